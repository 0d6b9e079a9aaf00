import DecisionReceipts
import Foundation
import MobileToken
import PowerAuthClient

/// The assessment of one receipt by the bank's history: a table of the receipt's claim and the operation's state.
struct ReceiptRule {
    private let receipt: DecisionReceipt
    /// Other receipts of the same operation.
    private let others: [DecisionReceipt]
    /// Indicates whether a later signature of its activation was accepted before the history was read.
    private let cannotBeAccepted: Bool
    /// Indicates whether the server said, before the history was read, that the operation is over, and not how.
    private let isOver: Bool

    init(_ receipt: DecisionReceipt, _ others: [DecisionReceipt], cannotBeAccepted: Bool, isOver: Bool) {
        self.receipt = receipt
        self.others = others
        self.cannotBeAccepted = cannotBeAccepted
        self.isOver = isOver
    }

    enum Finding: Equatable {
        case agrees
        case incomparable(ReceiptReconciliation.Incomparability)
        case differs(ReceiptReconciliation.Difference.Kind, proving: DecisionOutcome.Result? = nil)

        /// Indicates whether it rests on an entry of the history. A missing entry says nothing about another activation's
        /// receipts.
        var isAboutTheBank: Bool {
            switch self {
            case .agrees, .differs(.notCarriedOut, _), .differs(.wrongInference, _), .differs(.carriedOut, _),
                .differs(.provable, _), .differs(.unattributed, _):
                true
            case .incomparable, .differs: false
            }
        }
    }

    func finding(in bank: HistoryIndex) -> Finding {
        guard let id = self.receipt.operationID else { return self.isOpen ? .differs(.open) : .incomparable(.erased) }
        let operation = bank[id]
        let standing = operation.flatMap { DecisionFate.Operation($0.status, of: self.receipt.intent.verdict) }
        if standing == nil, self.isOver { return self.finding(ofUnclear: nil) }
        guard operation != nil else { return self.finding(ofAbsent: bank) }
        guard let standing else { return .incomparable(.unrecognizedStatus) }
        switch self.receipt.outcome?.result {
        case .accepted: return standing == .asDecided ? .agrees : .differs(.notCarriedOut)
        case .inferred: return standing == .asDecided ? .agrees : .differs(.wrongInference)
        case .refused(let code, _): return self.finding(ofNothing: standing, code)
        case .notFollowed: return self.finding(ofNothing: standing, nil)
        case .unknown, .unanswered, .doubtful, .followed, nil: return self.finding(ofUnclear: standing)
        }
    }

    private var isOpen: Bool { self.receipt.outcome?.isOpen ?? true }

    private func finding(ofAbsent bank: HistoryIndex) -> Finding {
        if self.isOpen { return .differs(.open) }
        guard self.receipt.isClaim, let reach = bank.reach, let began = self.receipt.operationBegan, began > reach
        else { return .incomparable(.beyondReach) }
        return .differs(.missing)
    }

    /// Handles a receipt which says that its signature decided nothing.
    private func finding(ofNothing standing: DecisionFate.Operation, _ code: String?) -> Finding {
        let wasOver = code.map { FailureKinds(ofCode: $0).contains(.decidedBefore) } ?? false
        guard standing == .asDecided, !wasOver, !self.others.contains(where: \.isClaim) else { return .agrees }
        return .differs(.carriedOut)
    }

    /// Handles a receipt with an unclear outcome.
    private func finding(ofUnclear standing: DecisionFate.Operation?) -> Finding {
        let known = self.receipt.outcome?.result
        var fate = DecisionFate(self.receipt.intent.verdict, known)
        for other in self.others { fate.see(another: other.outcome?.result) }
        if self.isOver { fate.see(.finished) }
        if self.cannotBeAccepted { fate.see(history: standing) } else if let standing { fate.see(standing) }
        let kind: ReceiptReconciliation.Difference.Kind = standing == .asDecided ? .unattributed : .open
        switch fate.result {
        case .unknown?: return known == .unknown ? .incomparable(.unknownOutcome) : .differs(kind, proving: .unknown)
        case let result? where !fate.isOpen: return .differs(.provable, proving: result)
        default: return .differs(kind)
        }
    }
}

extension DecisionReceipt {
    /// The operation's creation time, by the bank's clock; `nil` if the shown operation was not kept.
    fileprivate var operationBegan: Date? {
        self.intent.personalData?.shown.flatMap { try? UserOperation(parsing: Array($0.utf8)) }?.created
    }
}
