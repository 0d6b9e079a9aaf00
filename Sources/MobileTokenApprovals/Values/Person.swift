import ExactJSON
import Foundation

/// A person who may approve, however many devices or user ids they have.
public struct Person: Sendable, Hashable, Codable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name by which the asker knows the person.
    public let id: String
    /// The user ids at the server. The first is asked.
    public let users: [String]

    /// Creates a person.
    ///
    /// - Parameters:
    ///   - id: The identifier, by which the person is known to the asker.
    ///   - users: The user ids at the server; by default the identifier.
    public init(_ id: String, users: [String] = []) {
        self.id = id
        self.users = users.isEmpty ? [id] : users
    }

    /// Creates a person whose user id is the identifier.
    public init(stringLiteral id: String) { self.init(id) }

    /// The identifier.
    public var description: String { self.id }

    /// The user id that is asked.
    package var user: String { self.users.first ?? self.id }

    var json: JSONValue { ["id": .string(self.id), "users": .array(self.users.map { .string($0) })] }

    /// Returns whether both may be the same person: a name or a user id in common, whatever the case, the width and the blanks around it.
    ///
    /// A server's database may take such names for one. It is safer to exclude somebody too many than too few.
    func mayBe(_ other: Person) -> Bool {
        let names = Set(([self.id] + self.users).map(Self.folded))
        return ([other.id] + other.users).contains { names.contains(Self.folded($0)) }
    }

    private static func folded(_ name: String) -> String {
        // Capitals first: several small letters share one, such as the one with and the one without a dot.
        name.precomposedStringWithCompatibilityMapping.uppercased().lowercased().trimmingCharacters(in: .whitespaces)
    }

    func check() throws(ApprovalError) {
        for name in [self.id] + self.users {
            // An operation without a user could be decided by anybody.
            guard (1...255).contains(name.utf8.count), name.unicodeScalars.allSatisfy(Parameter.isVisible) else {
                throw ApprovalError(
                    .invalidRequest,
                    "A person's name and user ids have 1 to 255 bytes, all of them visible"
                )
            }
        }
    }
}
