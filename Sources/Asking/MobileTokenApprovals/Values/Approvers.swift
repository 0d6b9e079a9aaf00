import ExactJSON

/// The people who must approve.
///
/// ```swift
/// let approvers = Approvers.any(2, of: ["alice", "bob", "carol"]).excluding("bob")
/// ```
public struct Approvers: Sendable, Hashable, Codable {
    /// The effect of one rejection.
    public enum RejectionRule: String, Sendable, Hashable, Codable {
        /// One rejection ends the question.
        case ends
        /// The question stays open until too few people are left to approve it.
        case untilImpossible
    }

    private(set) var people: [Person]
    package private(set) var needed: Int
    private(set) var isInOrder: Bool
    private(set) var onRejection: RejectionRule
    private(set) var excluded: [Person] = []
    /// Indicates whether all people who are not excluded must approve.
    private(set) var isAll = false

    /// Asks one person.
    ///
    /// - Parameter user: The user id at the server.
    public static func user(_ user: String) -> Self { self.all(of: [Person(user)]) }

    /// Asks several people, all of whom must approve.
    ///
    /// - Parameters:
    ///   - people: The people to ask.
    ///   - inOrder: `true` to ask one after the other.
    public static func all(of people: [Person], inOrder: Bool = false) -> Self {
        var approvers = Self(people: people, needed: people.count, isInOrder: inOrder, onRejection: .ends)
        approvers.isAll = true
        return approvers
    }

    /// Asks several people, `count` of whom must approve.
    ///
    /// - Parameters:
    ///   - count: The number of people who must approve.
    ///   - people: The people to ask, all at once by default.
    ///   - inOrder: `true` to ask one after the other.
    ///   - onRejection: The effect of one rejection.
    public static func any(
        _ count: Int,
        of people: [Person],
        inOrder: Bool = false,
        onRejection: RejectionRule = .ends
    ) -> Self {
        Self(people: people, needed: count, isInOrder: inOrder, onRejection: onRejection)
    }

    /// Returns the approvers without some people, such as the requester.
    ///
    /// A person is excluded if any name or user id matches one of these, ignoring case. With `all(of:)`, all others must still
    /// approve.
    public func excluding(_ people: Person...) -> Self { self.excluding(people) }

    /// Returns the approvers without some people.
    public func excluding(_ people: [Person]) -> Self {
        var approvers = self
        approvers.excluded += people
        approvers.people.removeAll { person in people.contains { $0.mayBe(person) } }
        if self.isAll { approvers.needed = approvers.people.count }
        return approvers
    }

    /// Throws if there are no people to ask or the count is impossible.
    func check() throws(ApprovalError) {
        guard !self.people.isEmpty else {
            throw ApprovalError(.invalidRequest, "There is nobody to ask: name at least one person who is not excluded")
        }
        guard (1...self.people.count).contains(self.needed) else {
            throw ApprovalError(
                .invalidRequest,
                """
                \(self.needed) must approve, and \(self.people.count) can be asked: it takes at least one, and no more than are left without \
                those who are excluded
                """
            )
        }
        guard self.people.count <= 100 else { throw ApprovalError(.invalidRequest, "At most 100 people can be asked") }
        for person in self.people + self.excluded { try person.check() }
        for (index, person) in self.people.enumerated() {
            guard !self.people[..<index].contains(where: { $0.mayBe(person) }) else {
                throw ApprovalError(
                    .invalidRequest,
                    "Two of the people have a name or a user id in common: give one Person all user ids of one person"
                )
            }
        }
    }

    /// The part of a question that describes who must approve.
    var json: JSONValue {
        [
            "needed": .string(String(self.needed)),
            "of": .array(self.people.map(\.json)),
            "excluding": .array(self.excluded.map(\.json)),
            "order": .string(self.isInOrder ? "one after the other" : "all at once"),
            "rejection": .string(self.onRejection.rawValue),
        ]
    }

    enum Tally: Equatable {
        case approved
        case open
        /// Too few people are left.
        case impossible
    }

    /// Counts a vote.
    ///
    /// - Parameters:
    ///   - approved: The number of people who approved.
    ///   - lost: The number of people who can no longer approve.
    ///   - rejected: The number of people among the lost who rejected.
    func tally(approved: Int, lost: Int, rejected: Int) -> Tally {
        if rejected > 0, self.onRejection == .ends { return .impossible }
        if self.people.count - lost < self.needed { return .impossible }
        return approved >= self.needed ? .approved : .open
    }
}
