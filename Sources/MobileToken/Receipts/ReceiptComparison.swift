import Basics
public import Foundation
public import PowerAuth

extension ReceiptReconciliation {
    /// Compares receipts with the history of one activation's user.
    ///
    /// - Parameters:
    ///   - receipts: All receipts that are kept where this activation decides, also of other activations: they may be the same
    ///     user's.
    ///   - activationID: The activation that fetched the history.
    ///   - history: The operations that the bank lists, in any order.
    ///   - since: Decisions without a receipt count only of operations that began then or later, by the bank's clock; `nil` is any
    ///     time.
    ///   - earlier: The same receipts as they were before the history was asked for. What is not among them is not compared.
    ///     `nil` when nothing was written meanwhile.
    public init(
        of receipts: [DecisionReceipt],
        activationID: String,
        with history: OperationList,
        since: Date? = nil,
        readBefore earlier: [DecisionReceipt]? = nil
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
            let rule = ReceiptRule(receipt, others.filter { $0.key != receipt.key })
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
    /// The time when the oldest operation began that the history has; `nil` when it cannot be told what is missing from it.
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
    /// Tells that a user decided the operation with an activation.
    fileprivate var isDecision: Bool { self == .approved || self == .rejected }
}

extension DecisionReceipt {
    /// The identity of a signature.
    struct Key: Hashable {
        let activationID: ExactString
        let moves: UInt64
    }

    var key: Key { Key(activationID: ExactString(self.intent.activationID), moves: self.intent.moves) }
    var operationID: String? { self.intent.personalData?.operationID }

    /// Indicates that it says its signature decided the operation.
    var isClaim: Bool {
        switch self.outcome?.result {
        case .accepted, .inferred: true
        default: false
        }
    }

    /// Returns whether a decision that the bank lists is this one, or is named as a difference of this receipt already.
    fileprivate func explains(_ operation: UserOperation) -> Bool {
        guard operation.status == self.decidedStatus else { return false }
        switch self.outcome?.result {
        case .refused(let code, _): return !MobileTokenError.Code.saysItIsOver(code)
        default: return true
        }
    }

    /// The status of an operation that is decided so.
    var decidedStatus: UserOperation.Status { self.intent.verdict == .approve ? .approved : .rejected }

    /// Returns whether the receipt may be of an operation though its identifier was erased. A day is more than two clocks differ.
    fileprivate func mayBeErased(of operation: UserOperation) -> Bool {
        guard self.operationID == nil, operation.status == self.decidedStatus else { return false }
        guard let date = self.intent.serverDate else { return true }
        return (operation.created - 86_400...max(operation.created, operation.expires) + 86_400).contains(date)
    }
}

extension MobileTokenError.Code {
    /// Returns whether a server refuses so to decide what was decided or is over.
    static func saysItIsOver(_ name: String) -> Bool {
        [
            Self.operationAlreadyFinished, .operationAlreadyRejected, .operationAlreadyCanceled,
            .operationAlreadyFailed,
        ].contains { $0.description.isExactly(name) }
    }
}
