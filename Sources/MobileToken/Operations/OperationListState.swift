package import Foundation

/// The list of pending operations and the rules by which it changes.
///
/// Two sources tell what is true: lists fetched from the server, and the answers to decisions made here. A fetched list
/// shows some moment between the start and the end of its fetch. What was learned here before the fetch began is
/// therefore older than the list and gives way to it; what was learned while the fetch was under way may be newer, and
/// stays. So a list that was on its way while an operation was authorized does not bring the operation back.
package struct OperationListState: Sendable {
    package typealias Change = OperationListChange

    /// What a decision or a claim taught while a fetch was under way.
    private enum Lesson {
        case isGone
        case isPresent
    }

    /// Decisions on one operation that the server has not answered yet.
    private struct Undecided {
        var count = 0
        /// Whether the server's newest list lacks the operation, probably because of the decision.
        var isMissing = false
    }

    package private(set) var operations: [UserOperation] = []
    private var newestFetch = 0
    package private(set) var isFetching = false
    /// Whether this is exactly the list that was fetched last.
    package private(set) var isAsFetched = false
    private var lessons: [String: Lesson] = [:]
    private var undecided: [String: Undecided] = [:]

    package init() {}

    // MARK: Fetches

    /// A fetch begins; an earlier one still under way is superseded.
    ///
    /// - Returns: The number to give back to ``fetched(_:by:at:)`` or ``fetchEnded(_:)``.
    package mutating func fetchBegan() -> Int {
        self.newestFetch += 1
        self.isFetching = true
        self.lessons = [:]
        return self.newestFetch
    }

    /// Whether this is the fetch whose answer counts.
    package func isCurrent(_ fetch: Int) -> Bool { self.isFetching && fetch == self.newestFetch }

    /// A fetch ended without a list, or with the one that is known.
    package mutating func fetchEnded(_ fetch: Int) {
        guard self.isCurrent(fetch) else { return }
        self.isFetching = false
        self.lessons = [:]
    }

    /// The server's list arrived.
    ///
    /// - Parameters:
    ///   - list: Operations with distinct identifiers.
    ///   - serverDate: Tells the expired from those that disappeared otherwise.
    package mutating func fetched(_ list: [UserOperation], by fetch: Int, at serverDate: Date) -> Change? {
        guard self.isCurrent(fetch) else { return nil }
        self.isFetching = false
        self.isAsFetched = self.lessons.isEmpty && self.undecided.isEmpty
        var list = list
        if !self.lessons.isEmpty { self.applyLessons(to: &list) }
        if !self.undecided.isEmpty { self.keepUndecided(in: &list) }

        let difference = OperationListDifference(from: self.operations, to: list)
        self.operations = list
        let change = Change(
            operations: list,
            added: difference.added,
            updated: difference.updated,
            removed: difference.removed.map { Self.removal(of: $0, at: serverDate) },
            source: .fetch
        )
        return change.isEmpty ? nil : change
    }

    private mutating func applyLessons(to list: inout [UserOperation]) {
        list.removeAll { operation in
            if case .isGone = self.lessons[operation.id] { true } else { false }
        }
        let listed = Set(list.map(\.id))
        for operation in self.operations where !listed.contains(operation.id) {
            if case .isPresent = self.lessons[operation.id] { list.append(operation) }
        }
        self.lessons = [:]
    }

    private mutating func keepUndecided(in list: inout [UserOperation]) {
        let listed = Set(list.map(\.id))
        for (index, operation) in self.operations.enumerated() where self.undecided[operation.id] != nil {
            self.undecided[operation.id]?.isMissing = !listed.contains(operation.id)
            if !listed.contains(operation.id) { list.insert(operation, at: min(index, list.count)) }
        }
    }

    private static func removal(of operation: UserOperation, at serverDate: Date) -> Change.Removal {
        Change.Removal(operation: operation, reason: operation.expires <= serverDate ? .expired : .disappeared)
    }

    // MARK: Decisions

    /// A decision is sent. Until it is answered, the operation stays listed, so that it can leave for the right reason.
    package mutating func decisionBegan(_ id: String) {
        self.undecided[id, default: Undecided()].count += 1
    }

    /// The server took the decision.
    package mutating func decided(_ id: String, _ reason: Change.RemovalReason, source: Change.Source) -> Change? {
        _ = self.endDecision(id)
        self.isAsFetched = false
        if self.isFetching { self.lessons[id] = .isGone }
        return self.remove(id, source: source) { Change.Removal(operation: $0, reason: reason) }
    }

    /// The decision came to nothing, or nobody knows what came of it.
    package mutating func decisionFailed(_ id: String, at serverDate: Date) -> Change? {
        guard self.endDecision(id) else { return nil }
        return self.remove(id, source: .fetch) { Self.removal(of: $0, at: serverDate) }
    }

    /// - Returns: Whether this was the last decision on an operation that the server does not list any more.
    private mutating func endDecision(_ id: String) -> Bool {
        guard var undecided = self.undecided[id] else { return false }
        undecided.count -= 1
        self.undecided[id] = undecided.count > 0 ? undecided : nil
        return undecided.count == 0 && undecided.isMissing
    }

    /// The server handed the operation to this activation.
    package mutating func claimed(_ operation: UserOperation) -> Change? {
        self.isAsFetched = false
        if self.isFetching { self.lessons[operation.id] = .isPresent }
        guard let index = self.operations.firstIndex(where: { $0.id == operation.id }) else {
            self.operations.append(operation)
            return Change(operations: self.operations, added: [operation], source: .claim)
        }
        let old = self.operations[index]
        guard old != operation else { return nil }
        self.operations[index] = operation
        return Change(operations: self.operations, updated: [.init(old: old, new: operation)], source: .claim)
    }

    private mutating func remove(
        _ id: String,
        source: Change.Source,
        removal: (UserOperation) -> Change.Removal
    ) -> Change? {
        guard let index = self.operations.firstIndex(where: { $0.id == id }) else { return nil }
        let operation = self.operations.remove(at: index)
        return Change(operations: self.operations, removed: [removal(operation)], source: source)
    }
}
