import Basics
package import DecisionReceipts
package import Foundation
package import MobileToken
import PowerAuthClient

extension ReceiptReconciliation {
    /// Compares receipts with the history of one activation's user.
    ///
    /// - Parameters:
    ///   - receipts: All receipts kept where this activation decides, including other activations, which may belong to the same
    ///     user.
    ///   - activationID: The activation that fetched the history.
    ///   - history: The bank's operations, in any order.
    ///   - since: Reports decisions without a receipt only for operations created from then on, by the bank's clock; `nil` is any
    ///     time.
    ///   - earlier: The same receipts from before the history was requested. Others are not compared. `nil` if nothing was
    ///     written meanwhile.
    package init(
        of receipts: [DecisionReceipt],
        activationID: String,
        with history: OperationList,
        since: Date? = nil,
        readBefore earlier: [DecisionReceipt]? = nil
    ) {
        self.init(of: receipts, activationID: activationID, with: history, since: since, readBefore: earlier, over: [])
    }

    /// - Parameter over: The receipts whose operations were over before the history was requested, nobody knows how.
    init(
        of receipts: [DecisionReceipt],
        activationID: String,
        with history: OperationList,
        since: Date?,
        readBefore earlier: [DecisionReceipt]?,
        over: Set<DecisionReceipt.Key>
    ) {
        let bank = HistoryIndex(history)
        let relevant = receipts.filter { receipt in
            receipt.intent.activationID.isExactly(activationID) || bank[receipt.operationID] != nil
        }
        let known = earlier.map(Set.init)
        let byOperation = Dictionary(grouping: relevant) { receipt in receipt.operationID.map { ExactString($0) } }
        for receipt in relevant {
            if let known, !known.contains(receipt) {
                self.add(.incomparable(.justWritten), receipt, nil)
                continue
            }
            let isOwn = receipt.intent.activationID.isExactly(activationID)
            let others = receipt.operationID.flatMap { byOperation[ExactString($0)] } ?? []
            let rule = ReceiptRule(
                receipt,
                others.filter { $0.key != receipt.key },
                // The history itself was signed.
                cannotBeAccepted: isOwn || receipts.contains { $0.showsThatTheServerIsPast(receipt) },
                isOver: over.contains(receipt.key)
            )
            let finding = rule.finding(in: bank)
            guard isOwn || finding.isAboutTheBank else { continue }
            self.add(finding, receipt, bank[receipt.operationID]?.status)
        }
        self.addClaimedTwice(relevant, bank)
        let erased = receipts.filter { $0.operationID == nil }
        for operation in history.operations where since.map({ operation.created >= $0 }) ?? true {
            let own = byOperation[ExactString(operation.id)] ?? []
            guard operation.status.isDecision, own.allSatisfy({ !$0.explains(operation) }),
                !erased.contains(where: { $0.mayBeErased(of: operation) })
            else { continue }
            self.differences.append(Difference(.decidedElsewhere, operation.id, operation.status, own))
        }
    }

    private mutating func add(
        _ finding: ReceiptRule.Finding,
        _ receipt: DecisionReceipt,
        _ status: UserOperation.Status?
    ) {
        switch finding {
        case .agrees: self.agreeingCount += 1
        case .incomparable(let reason): self.incomparable[reason, default: []].append(receipt.number)
        case .differs(let kind, let conclusion):
            self.differences.append(Difference(kind, receipt.operationID, status, [receipt], conclusion))
        }
    }

    private mutating func addClaimedTwice(_ receipts: [DecisionReceipt], _ bank: HistoryIndex) {
        var claims: [ExactString: [DecisionReceipt]] = [:]
        var order: [ExactString] = []
        for receipt in receipts where receipt.isClaim {
            guard let id = receipt.operationID.map({ ExactString($0) }) else { continue }
            if claims[id] == nil { order.append(id) }
            claims[id, default: []].append(receipt)
        }
        for id in order {
            guard let receipts = claims[id], receipts.count > 1 else { continue }
            self.differences.append(Difference(.claimedTwice, id.string, bank[id.string]?.status, receipts))
        }
    }
}

extension ReceiptReconciliation.Difference {
    fileprivate init(
        _ kind: Kind,
        _ operationID: String?,
        _ status: UserOperation.Status?,
        _ receipts: [DecisionReceipt],
        _ conclusion: DecisionOutcome.Result? = nil
    ) {
        self.kind = kind
        self.operationID = operationID
        self.status = status
        self.receipts = receipts
        self.conclusion = conclusion
    }
}

/// The bank's history, by identifier.
struct HistoryIndex {
    private let operations: [ExactString: UserOperation]
    /// The creation time of the oldest operation in the history; `nil` if it is unknown what the history omits.
    let reach: Date?

    init(_ history: OperationList) {
        self.operations = Dictionary(
            history.operations.map { (ExactString($0.id), $0) },
            uniquingKeysWith: { first, _ in first }
        )
        let isWhole = history.issues.isEmpty && history.omittedIssueCount == 0
        self.reach = isWhole ? history.operations.map(\.created).min() : nil
    }

    subscript(_ id: String?) -> UserOperation? { id.flatMap { self.operations[ExactString($0)] } }
}

extension UserOperation.Status {
    /// Indicates whether a user decided the operation with an activation.
    fileprivate var isDecision: Bool { self == .approved || self == .rejected }
}

extension DecisionReceipt {
    /// The identity of a signature.
    struct Key: Hashable {
        let activationID: ExactString
        let moves: UInt64

        init(_ activationID: String, _ moves: UInt64) {
            (self.activationID, self.moves) = (ExactString(activationID), moves)
        }
    }

    var key: Key { Key(self.intent.activationID, self.intent.moves) }
    var operationID: String? { self.intent.personalData?.operationID }

    /// Indicates whether the receipt claims that its signature decided the operation.
    var isClaim: Bool {
        switch self.outcome?.result {
        case .accepted, .inferred: true
        default: false
        }
    }

    /// Returns whether the server has accepted this signature, which is later than `other` of the same activation.
    fileprivate func showsThatTheServerIsPast(_ other: Self) -> Bool {
        self.intent.moves > other.intent.moves && [.accepted, .followed, .inferred].contains(self.outcome?.result)
            && self.intent.activationID.isExactly(other.intent.activationID)
    }

    /// Returns whether this receipt is the decision that the bank lists, or is already reported as a difference for it.
    fileprivate func explains(_ operation: UserOperation) -> Bool {
        guard operation.status == self.decidedStatus else { return false }
        switch self.outcome?.result {
        case .refused(let code, _): return !FailureKinds(ofCode: code).contains(.decidedBefore)
        default: return true
        }
    }

    /// The status of an operation with this decision.
    var decidedStatus: UserOperation.Status { self.intent.verdict == .approve ? .approved : .rejected }

    /// Returns whether the receipt may concern an operation though its identifier was erased. A day exceeds the difference of two
    /// clocks.
    fileprivate func mayBeErased(of operation: UserOperation) -> Bool {
        guard self.operationID == nil, operation.status == self.decidedStatus else { return false }
        guard let date = self.intent.serverDate else { return true }
        return (operation.created - 86_400...max(operation.created, operation.expires) + 86_400).contains(date)
    }
}
