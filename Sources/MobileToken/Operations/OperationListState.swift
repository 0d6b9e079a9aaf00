package import Foundation
import PowerAuth

/// The list of pending operations, whether it is being fetched, and the rules by which it changes.
///
/// Two sources tell what is true: lists fetched from the server, and the responses to decisions made here. A fetched list
/// shows some moment between the start and the end of its fetch. What was learned here before the fetch began is
/// therefore older than the list and gives way to it; what was learned while the fetch was under way may be newer, and
/// stays. So a list that was on its way while an operation was authorized does not bring the operation back. The response to
/// a claim is judged alike: it shows some moment since the claim was sent, so it brings nothing back that left meanwhile.
///
/// There is one fetch at a time. A fetch that was superseded has no say any more, however late it begins or ends.
package struct OperationListState: Sendable {
    package typealias Change = OperationList.Change

    /// A fetch under way.
    private struct Fetch {
        let number: Int
        let began: Duration
        /// Indicates whether our list was the server's when the fetch began, so that nothing is to be done when it says the same
        /// again.
        let isListTheServers: Bool
        /// The effects of decisions and claims that were answered since it began.
        var responses: [String: Response] = [:]
        /// Indicates whether something happened since it began that its list may be too early to show.
        var isOutdated = false
    }

    /// The effect of a decision or a claim that was answered while a fetch was under way.
    private enum Response {
        case isGone
        case isPresent
    }

    /// Decisions on one operation that the server has not answered yet.
    private struct UnansweredDecisions {
        var count = 0
        /// Indicates whether the server's newest list lacks the operation, probably because of the decision.
        var isMissing = false
    }

    /// Claims of one operation that the server has not answered yet.
    private struct UnansweredClaims {
        var count = 0
        /// Indicates whether the operation left the list, or was decided, since the oldest of these claims was sent.
        var isGone = false
    }

    /// The merged list: the server's, and what was learned here since.
    package private(set) var operations: [UserOperation] = []
    /// The server's last list, whatever was decided here since.
    private(set) var server: ServerList?
    /// The time when the request was sent that ``server`` is the response to.
    private var asked: Duration?
    /// The reason the last fetch brought no list; `nil` when it did. A canceled fetch does not count.
    private var failure: MobileTokenError?
    /// Until when the server asked to be left alone.
    private var notBefore: Duration?
    private var fetch: Fetch?
    private var newestFetch = 0
    /// Indicates whether this is exactly the list that was fetched last.
    private var isTheServers = false
    private var undecided: [String: UnansweredDecisions] = [:]
    private var unclaimed: [String: UnansweredClaims] = [:]

    package init() {}

    // MARK: What is known

    /// Indicates whether a list is being fetched.
    package var isFetching: Bool { self.fetch != nil }

    /// Returns the merged list with what the server said about it.
    package func list(at now: Duration) -> OperationList {
        OperationList(
            operations: self.operations,
            currentTimestamp: self.server?.list.currentTimestamp,
            issues: self.server?.list.issues ?? [],
            omittedIssueCount: self.server?.list.omittedIssueCount ?? 0,
            age: self.asked.map { now - $0 }
        )
    }

    /// Returns what came of the last fetch that ended, the list as it is now included.
    package func lastResult(at now: Duration) -> Result<OperationList, MobileTokenError>? {
        if let failure { return .failure(failure) }
        return self.asked == nil ? nil : .success(self.list(at: now))
    }

    /// Returns whether the server asked to be left alone, which a person's own request need not heed.
    package func isAskedToWait(at now: Duration) -> Bool { self.notBefore.map { now < $0 } ?? false }

    /// Indicates whether another fetch has to follow the one under way.
    package var isNewerListWanted: Bool { self.fetch?.isOutdated ?? false }

    // MARK: Fetches

    /// Notes that a fetch begins; an earlier one still under way is superseded.
    ///
    /// - Returns: The number to give back when it ends.
    package mutating func beginFetch(at now: Duration = .zero) -> Int {
        self.newestFetch += 1
        self.fetch = Fetch(number: self.newestFetch, began: now, isListTheServers: self.isTheServers)
        return self.newestFetch
    }

    /// Returns whether this is the fetch whose response counts.
    package func isCurrent(_ fetch: Int) -> Bool { fetch == self.fetch?.number }

    /// Indicates whether the list is the server's already when the response to the fetch under way says the same as the last.
    package var isDoneWhenRepeated: Bool { self.fetch?.isListTheServers ?? false }

    /// Notes a change that the fetch under way may be too early to show, so that another has to follow it.
    ///
    /// - Returns: `true` when there is none, so that one is to begin at once.
    package mutating func needsNewerList() -> Bool {
        guard self.fetch != nil else { return true }
        self.fetch?.isOutdated = true
        return false
    }

    /// Notes that a fetch ended without a list.
    ///
    /// - Parameter failure: `nil` when it was canceled.
    /// - Returns: `true` when another fetch is to begin.
    package mutating func endFetch(_ fetch: Int, _ failure: MobileTokenError?, at now: Duration) -> Bool {
        guard self.isCurrent(fetch), let ended = self.fetch.take() else { return false }
        if let failure {
            self.failure = failure
            self.notBefore = failure.retryAfter.map { now + PollSchedule.believed($0) }
        }
        return ended.isOutdated
    }

    /// Notes that the server said the same as before.
    ///
    /// - Returns: `true` when another fetch is to begin.
    mutating func applyUnchanged(_ known: ServerList, by fetch: Int) -> Bool {
        guard self.isCurrent(fetch), let ended = self.fetch.take() else { return false }
        self.recordServerList(known, ended)
        return ended.isOutdated
    }

    /// Takes in the server's list.
    ///
    /// - Returns: The change, and whether another fetch is to begin.
    mutating func apply(_ new: ServerList, by fetch: Int, at serverDate: Date) -> (Change?, isOutdated: Bool) {
        guard self.isCurrent(fetch), let ended = self.fetch else { return (nil, false) }
        self.recordServerList(new, ended)
        return (self.apply(new.list.operations, by: fetch, at: serverDate), ended.isOutdated)
    }

    private mutating func recordServerList(_ list: ServerList, _ fetch: Fetch) {
        self.server = list
        self.asked = fetch.began
        self.failure = nil
        self.notBefore = nil
    }

    /// Takes in the operations that the server lists.
    ///
    /// - Parameters:
    ///   - list: Operations with distinct identifiers.
    ///   - serverDate: Tells the expired from those that disappeared otherwise.
    package mutating func apply(_ list: [UserOperation], by fetch: Int, at serverDate: Date) -> Change? {
        guard self.isCurrent(fetch), let ended = self.fetch.take() else { return nil }
        self.isTheServers = ended.responses.isEmpty && self.undecided.isEmpty
        var list = list
        if !ended.responses.isEmpty { self.apply(ended.responses, to: &list) }
        if !self.undecided.isEmpty { self.keepUndecided(in: &list) }

        let difference = OperationListDifference(from: self.operations, to: list)
        self.operations = list
        for operation in difference.removed { self.isGone(operation.id) }
        let change = Change(
            operations: list,
            added: difference.added,
            updated: difference.updated,
            removed: difference.removed.map { Self.removal(of: $0, at: serverDate) },
            source: .fetch
        )
        return change.isEmpty ? nil : change
    }

    private func apply(_ responses: [String: Response], to list: inout [UserOperation]) {
        list.removeAll { operation in
            if case .isGone = responses[operation.id] { true } else { false }
        }
        let listed = Set(list.map(\.id))
        for operation in self.operations where !listed.contains(operation.id) {
            if case .isPresent = responses[operation.id] { list.append(operation) }
        }
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

    /// Notes that a decision is sent. Until it is answered, the operation stays listed, so that it can leave for the
    /// right reason.
    package mutating func beginDecision(_ id: String) {
        self.undecided[id, default: UnansweredDecisions()].count += 1
    }

    /// Notes that the server took the decision.
    package mutating func applyDecision(_ id: String, _ reason: Change.RemovalReason, source: Change.Source) -> Change?
    {
        _ = self.endDecision(id)
        self.isTheServers = false
        self.fetch?.responses[id] = .isGone
        self.isGone(id)
        return self.remove(id, source: source) { Change.Removal(operation: $0, reason: reason) }
    }

    /// Notes that the decision came to nothing, or its outcome is unknown.
    package mutating func failDecision(_ id: String, at serverDate: Date) -> Change? {
        guard self.endDecision(id) else { return nil }
        self.isGone(id)
        return self.remove(id, source: .fetch) { Self.removal(of: $0, at: serverDate) }
    }

    /// - Returns: `true` when this was the last decision on an operation that the server does not list any more.
    private mutating func endDecision(_ id: String) -> Bool {
        guard var undecided = self.undecided[id] else { return false }
        undecided.count -= 1
        self.undecided[id] = undecided.count > 0 ? undecided : nil
        return undecided.count == 0 && undecided.isMissing
    }

    // MARK: Claims

    /// Notes that a claim is sent.
    package mutating func claimBegan(_ id: String) {
        self.unclaimed[id, default: UnansweredClaims()].count += 1
    }

    /// Notes that the claim came to nothing, or its outcome is unknown.
    package mutating func claimFailed(_ id: String) {
        _ = self.endClaim(id)
    }

    /// Notes that the server handed an operation to this activation.
    ///
    /// - Parameter id: The identifier that was claimed; that of the operation by default.
    package mutating func applyClaim(_ operation: UserOperation, as id: String? = nil) -> Change? {
        // The response may be older than the operation's end.
        guard !self.endClaim(id ?? operation.id) else { return nil }
        self.isTheServers = false
        self.fetch?.responses[operation.id] = .isPresent
        guard let index = self.operations.firstIndex(where: { $0.id == operation.id }) else {
            self.operations.append(operation)
            return Change(operations: self.operations, added: [operation], source: .claim)
        }
        let old = self.operations[index]
        guard old != operation else { return nil }
        self.operations[index] = operation
        return Change(operations: self.operations, updated: [.init(old: old, new: operation)], source: .claim)
    }

    /// - Returns: `true` when the operation left since the claim was sent.
    private mutating func endClaim(_ id: String) -> Bool {
        guard var unclaimed = self.unclaimed[id] else { return false }
        unclaimed.count -= 1
        self.unclaimed[id] = unclaimed.count > 0 ? unclaimed : nil
        return unclaimed.isGone
    }

    private mutating func isGone(_ id: String) {
        self.unclaimed[id]?.isGone = true
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
