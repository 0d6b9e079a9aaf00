import Basics
public import PowerAuth

/// Receipts of decisions, compared with the bank's history of operations.
///
/// ```swift
/// let reconciliation = try await operations.reconcileReceipts(with: .possessionAndKnowledge(password: password))
/// for difference in reconciliation.differences { print(difference) }
/// ```
///
/// A history tells how an operation ended, and not by whom. So it refutes a receipt, and never confirms more than that the
/// operation ended as the receipt says. It is bounded: about what it does not reach, nothing is concluded. Dates are compared with
/// each other only where both are the bank's, so neither a time zone nor a wrong clock makes a difference.
public struct ReceiptReconciliation: Sendable, Hashable {
    /// The differences, in the order of the receipts and then of the history.
    public internal(set) var differences: [Difference] = []
    /// Differences that are none any more: ``Difference/conclusion`` was written into the receipts.
    public internal(set) var settled: [Difference] = []
    /// The number of receipts that say what the history says.
    public internal(set) var agreeingCount = 0
    /// The receipts that the history tells nothing about, by their numbers.
    public internal(set) var incomparable: [Incomparability: [UInt64]] = [:]

    /// One thing on which receipts and history do not agree.
    public struct Difference: Sendable, Hashable {
        /// The kind of difference.
        public let kind: Kind
        /// The operation's identifier; `nil` when it was erased from the receipt.
        public let operationID: String?
        /// The operation's status in the history; `nil` when it is not in it.
        public let status: UserOperation.Status?
        /// The receipts that are concerned; empty when there is none.
        public let receipts: [DecisionReceipt]
        /// The result that the history proves of a receipt which left it open; `nil` when it proves nothing.
        public let conclusion: DecisionOutcome.Result?
    }

    /// The reason why a receipt cannot be compared.
    public enum Incomparability: String, Sendable, Hashable, CaseIterable {
        /// The history does not reach back to the operation, or its beginning is not known.
        case beyondReach
        /// The operation's identifier was erased.
        case erased
        /// The operation has a status that this version does not know.
        case unrecognizedStatus
        /// The receipt itself does not claim to know.
        case unknownOutcome
        /// The receipt was written or changed while the history was fetched.
        case justWritten
    }
}

extension ReceiptReconciliation.Difference {
    /// The name of a kind of difference. A struct, so that a new kind breaks nobody's `switch`.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        /// The name of the kind, such as `notCarriedOut`.
        public let description: String

        /// The bank said that it carried the decision out, and lists the operation otherwise.
        public static let notCarriedOut = Self(description: "notCarriedOut")
        /// The decision was taken for carried out by the counter, and the bank lists the operation otherwise.
        public static let wrongInference = Self(description: "wrongInference")
        /// The receipt says that nothing was decided, no other claims it, and the operation ended so as it was decided.
        public static let carriedOut = Self(description: "carriedOut")
        /// The bank lists a decision that no receipt claims.
        public static let decidedElsewhere = Self(description: "decidedElsewhere")
        /// The history proves what the receipt left open; see ``ReceiptReconciliation/Difference/conclusion``.
        public static let provable = Self(description: "provable")
        /// The operation ended so as it was decided; the receipt does not know by whom, and neither does the history.
        public static let unattributed = Self(description: "unattributed")
        /// The receipt is open, and the history does not close it.
        public static let open = Self(description: "open")
        /// Two receipts claim one operation.
        public static let claimedTwice = Self(description: "claimedTwice")
        /// The bank does not list an operation that it said it had decided, though its history reaches further back.
        public static let missing = Self(description: "missing")
    }
}

extension ReceiptReconciliation.Difference: CustomStringConvertible {
    /// The kind, the operation and a sentence.
    public var description: String {
        let operation = self.operationID.map { DisplayText.escaped($0, limit: 64) } ?? "(erased)"
        return "\(self.kind) \(operation): \(self.sentence)"
    }

    /// The difference, in a sentence for people.
    public var sentence: String {
        let numbers = self.receipts.map { "\($0.number)" }.joined(separator: ", ")
        let says = self.receipts.first.map { "receipt \(numbers) says \($0.intent.verdict): \($0.result)" } ?? ""
        let bank = self.status.map { "the bank lists it as \(DisplayText.escaped($0.rawValue, limit: 32))" } ?? ""
        return switch self.kind {
        case .notCarriedOut, .wrongInference: "\(says), and \(bank)"
        case .carriedOut:
            "\(says), and \(bank): by this signature all the same, by another phone, or at the bank"
        case .decidedElsewhere:
            self.receipts.isEmpty
                ? "\(bank), and no receipt is there: it was decided elsewhere, or its receipt is lost"
                : "\(bank), which receipt \(numbers) does not claim: it was decided elsewhere"
        case .provable: "\(says); \(bank), so it is \(self.conclusion?.description ?? "unknown")"
        case .unattributed: "\(says); \(bank), and does not say by whom"
        case .open: "\(says); " + (bank.isEmpty ? "the history does not have the operation" : bank)
        case .claimedTwice: "receipts \(numbers) both claim it" + (bank.isEmpty ? "" : "; \(bank)")
        case .missing: "\(says), and the bank's history, which reaches further back, does not have it"
        default: "\(says) \(bank)"
        }
    }
}

extension DecisionReceipt {
    /// The outcome, for people.
    fileprivate var result: String { self.outcome?.result.description ?? "open" }
}
