import Basics
package import Foundation
import PowerAuthClient

/// The list of pending operations, its fetch, and the rules of its changes.
///
/// It merges fetched lists with the responses to decisions made here. A fetched list shows some moment between the start and the
/// end of its fetch. Responses from before the fetch are older than the list and give way to it; responses during the fetch may
/// be newer, and stay. So a list requested before an authorization does not restore the operation. The response to a claim shows
/// some moment since the claim was sent, so it does not restore an operation that left meanwhile.
///
/// There is one fetch at a time. A superseded fetch has no effect, however late it begins or ends.
package struct OperationListState: Sendable {
    package typealias Change = OperationList.Change

    /// The fetch in progress.
    private struct Fetch {
        let number: Int
        let began: Duration
        /// Indicates whether the list equaled the server's when the fetch began, so that a repeated response needs no work.
        let isListTheServers: Bool
        /// The decisions and claims answered since it began.
        var responses: [String: Response] = [:]
        /// Indicates whether something happened since it began that its list may not show.
        var isOutdated = false
    }

    /// The effect of a decision or a claim that was answered during a fetch.
    private enum Response {
        case isGone
        case isPresent
    }

    /// Decisions on one operation that await the server's response.
    private struct UnansweredDecisions {
        var count = 0
        /// Indicates whether the server's newest list lacks the operation, probably because of the decision.
        var isMissing = false
    }

    /// Claims of one operation that await the server's response.
    private struct UnansweredClaims {
        var count = 0
        /// Indicates whether the operation left the list, or was decided, since the oldest of these claims was sent.
        var isGone = false
    }

    /// The merged list: the server's, plus the responses since.
    package private(set) var operations: [UserOperation] = []
    /// The server's last list, without the decisions made here since.
    private(set) var server: ServerList?
    /// The time when the request for ``server`` was sent.
    private var asked: Duration?
    /// The error of the last fetch; `nil` if it succeeded. A canceled fetch does not count.
    private var failure: MobileTokenError?
    /// The end of the server's `Retry-After`.
    private var notBefore: Duration?
    private var fetch: Fetch?
    private var newestFetch = 0
    /// Indicates whether this is exactly the last fetched list.
    private var isTheServers = false
    private var undecided: [String: UnansweredDecisions] = [:]
    private var unclaimed: [String: UnansweredClaims] = [:]

    package init() {}

    // MARK: What is known

    package var isFetching: Bool { self.fetch != nil }

    var unreadable: [OperationList.Unreadable] { self.server?.list.unreadable ?? [] }

    /// Returns the merged list with the server's data about it.
    package func list(at now: Duration) -> OperationList {
        OperationList(
            operations: self.operations,
            currentTimestamp: self.server?.list.currentTimestamp,
            unreadable: self.unreadable,
            issues: self.server?.list.issues ?? [],
            omittedIssueCount: self.server?.list.omittedIssueCount ?? 0,
            age: self.asked.map { now - $0 }
        )
    }

    /// Returns the result of the last completed fetch, with the list as it is now.
    package func lastResult(at now: Duration) -> Result<OperationList, MobileTokenError>? {
        if let failure { return .failure(failure) }
        return self.asked == nil ? nil : .success(self.list(at: now))
    }

    /// Returns whether the server asked for a pause, which a person's own request may ignore.
    package func isAskedToWait(at now: Duration) -> Bool { self.notBefore.map { now < $0 } ?? false }

    /// Indicates whether another fetch must follow the current one.
    package var isNewerListWanted: Bool { self.fetch?.isOutdated ?? false }

    // MARK: Fetches

    /// Starts a fetch; it supersedes an earlier one.
    ///
    /// - Returns: The number to pass when it ends.
    package mutating func beginFetch(at now: Duration = .zero) -> Int {
        self.newestFetch += 1
        self.fetch = Fetch(number: self.newestFetch, began: now, isListTheServers: self.isTheServers)
        return self.newestFetch
    }

    /// Returns whether this is the current fetch.
    package func isCurrent(_ fetch: Int) -> Bool { fetch == self.fetch?.number }

    /// Indicates whether a repeated response to the current fetch needs no work.
    package var isDoneWhenRepeated: Bool { self.fetch?.isListTheServers ?? false }

    /// Notes a change that the current fetch may miss, so that another must follow.
    ///
    /// - Returns: `true` if there is none, so that one should start at once.
    package mutating func needsNewerList() -> Bool {
        guard self.fetch != nil else { return true }
        self.fetch?.isOutdated = true
        return false
    }

    /// Notes that a fetch ended without a list.
    ///
    /// - Parameter failure: `nil` if it was canceled.
    /// - Returns: `true` if another fetch should start.
    package mutating func endFetch(_ fetch: Int, _ failure: MobileTokenError?, at now: Duration) -> Bool {
        guard self.isCurrent(fetch), let ended = self.fetch.take() else { return false }
        if let failure {
            self.failure = failure
            // A list may be asked for by hand in the meantime, whose failure ends no longer wait.
            if let wait = failure.retryAfter { self.notBefore = max(self.notBefore ?? now, now + wait.believed) }
        }
        return ended.isOutdated
    }

    /// Notes that the server repeated its last response.
    ///
    /// - Returns: `true` if another fetch should start.
    mutating func applyUnchanged(_ known: ServerList, by fetch: Int) -> Bool {
        guard self.isCurrent(fetch), let ended = self.fetch.take() else { return false }
        self.recordServerList(known, ended)
        return ended.isOutdated
    }

    /// Applies the server's list.
    ///
    /// - Returns: The change, and whether another fetch should start.
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

    /// Applies the operations that the server lists.
    ///
    /// - Parameters:
    ///   - list: Operations with distinct identifiers.
    ///   - serverDate: Distinguishes expired operations from those that disappeared otherwise.
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
            removed: difference.removed.map { operation in
                let isUnreadable = self.unreadable.contains { $0.id?.isExactly(operation.id) == true }
                return isUnreadable
                    ? Change.Removal(operation: operation, reason: .unreadable)
                    : Self.removal(of: operation, at: serverDate)
            },
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

    /// Notes that a decision is sent. The operation stays listed until the response, so that it leaves for the right reason.
    package mutating func beginDecision(_ id: String) {
        self.undecided[id, default: UnansweredDecisions()].count += 1
    }

    /// Notes that the server accepted the decision.
    package mutating func applyDecision(_ id: String, _ reason: Change.RemovalReason, source: Change.Source) -> Change?
    {
        _ = self.endDecision(id)
        self.isTheServers = false
        self.fetch?.responses[id] = .isGone
        self.isGone(id)
        return self.remove(id, source: source) { Change.Removal(operation: $0, reason: reason) }
    }

    /// Notes that the decision failed, or its outcome is unknown.
    package mutating func failDecision(_ id: String, at serverDate: Date) -> Change? {
        guard self.endDecision(id) else { return nil }
        self.isGone(id)
        return self.remove(id, source: .fetch) { Self.removal(of: $0, at: serverDate) }
    }

    /// - Returns: `true` if this was the last decision on an operation that the server no longer lists.
    private mutating func endDecision(_ id: String) -> Bool {
        guard var undecided = self.undecided[id] else { return false }
        undecided.count -= 1
        self.undecided[id] = undecided.count > 0 ? undecided : nil
        return undecided.count == 0 && undecided.isMissing
    }

    // MARK: Claims

    package mutating func claimBegan(_ id: String) {
        self.unclaimed[id, default: UnansweredClaims()].count += 1
    }

    /// Notes that the claim failed, or its outcome is unknown.
    package mutating func claimFailed(_ id: String) {
        _ = self.endClaim(id)
    }

    /// Notes that the server assigned an operation to this activation.
    ///
    /// - Parameter id: The claimed identifier; by default the operation's.
    package mutating func applyClaim(_ operation: UserOperation, as id: String? = nil) -> Change? {
        // The response may predate the operation's end.
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

    /// - Returns: `true` if the operation left since the claim was sent.
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
