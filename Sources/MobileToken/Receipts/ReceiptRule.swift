import Foundation
import PowerAuth

/// The verdict of the bank's history on one receipt: a table of what the receipt claims and how the operation stands.
struct ReceiptRule {
    private let receipt: DecisionReceipt
    /// Other receipts of the same operation.
    private let others: [DecisionReceipt]

    init(_ receipt: DecisionReceipt, _ others: [DecisionReceipt]) {
        self.receipt = receipt
        self.others = others
    }

    enum Finding: Equatable {
        case agrees
        case incomparable(ReceiptReconciliation.Incomparability)
        case differs(ReceiptReconciliation.Difference.Kind, proving: DecisionOutcome.Result? = nil)

        /// Indicates that it rests on what the history has. What it lacks says nothing about another activation's receipts.
        var isAboutTheBank: Bool {
            switch self {
            case .agrees, .differs(.notCarriedOut, _), .differs(.wrongInference, _), .differs(.carriedOut, _),
                .differs(.provable, _), .differs(.unattributed, _):
                true
            case .incomparable, .differs: false
            }
        }
    }

    /// The state of the operation, seen from the verdict.
    private enum Standing {
        case pending, asDecided, otherwise
    }

    func finding(in bank: HistoryIndex) -> Finding {
        guard let id = self.receipt.operationID else { return self.isOpen ? .differs(.open) : .incomparable(.erased) }
        guard let operation = bank[id] else { return self.finding(ofAbsent: bank) }
        guard let standing = self.standing(operation.status) else { return .incomparable(.unrecognizedStatus) }
        switch self.receipt.outcome?.result {
        case .accepted: return standing == .asDecided ? .agrees : .differs(.notCarriedOut)
        case .inferred: return standing == .asDecided ? .agrees : .differs(.wrongInference)
        case .refused(let code, _): return self.finding(ofNothing: standing, code)
        case .notFollowed: return self.finding(ofNothing: standing, nil)
        case .unknown, .unanswered, .followed, nil: return self.finding(ofUnclear: standing)
        }
    }

    private var isOpen: Bool { self.receipt.outcome?.isOpen ?? true }

    private func standing(_ status: UserOperation.Status) -> Standing? {
        switch status {
        case .pending: .pending
        case .approved, .rejected, .canceled, .expired, .failed:
            status == self.receipt.decidedStatus ? .asDecided : .otherwise
        case .unknown: nil
        }
    }

    private func finding(ofAbsent bank: HistoryIndex) -> Finding {
        if self.isOpen { return .differs(.open) }
        guard self.receipt.isClaim, let reach = bank.reach, let began = self.receipt.operationBegan, began > reach
        else { return .incomparable(.beyondReach) }
        return .differs(.missing)
    }

    /// The receipt says that its signature decided nothing.
    private func finding(ofNothing standing: Standing, _ code: String?) -> Finding {
        let wasOver = code.map(MobileTokenError.Code.saysItIsOver) ?? false
        guard standing == .asDecided, !wasOver, !self.others.contains(where: \.isClaim) else { return .agrees }
        return .differs(.carriedOut)
    }

    /// The receipt does not know what became of its signature. What ended otherwise was not decided by it; what waits may still be.
    private func finding(ofUnclear standing: Standing) -> Finding {
        switch standing {
        case .pending: return self.isOpen ? .differs(.open) : .incomparable(.unknownOutcome)
        case .otherwise: return .differs(.provable, proving: .notFollowed)
        case .asDecided: break
        }
        // Two signatures never decide one operation.
        if self.others.contains(where: { $0.outcome?.result == .accepted }) {
            return .differs(.provable, proving: .notFollowed)
        }
        guard self.receipt.outcome?.result == .followed, !self.others.contains(where: \.isClaim) else {
            return .differs(.unattributed)
        }
        return .differs(.provable, proving: .inferred)
    }
}

extension DecisionReceipt {
    /// The time when the operation began, by the bank's clock, as it was shown; `nil` when that was not kept.
    fileprivate var operationBegan: Date? {
        self.intent.personalData?.shown.flatMap { try? UserOperation(parsing: Array($0.utf8)) }?.created
    }
}
