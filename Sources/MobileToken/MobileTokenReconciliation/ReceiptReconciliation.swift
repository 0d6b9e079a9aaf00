import Basics
public import DecisionReceipts
public import MobileToken

/// The result of comparing receipts with the bank's history.
///
/// ```swift
/// let reconciliation = try await operations.reconcileReceipts(with: .possessionAndKnowledge(password: password))
/// for difference in reconciliation.differences { print(difference) }
/// ```
///
/// A history shows how an operation ended, but not who decided it. So it can refute a receipt, but confirm at most that the
/// operation ended as the receipt says. Nothing is concluded beyond its reach. Only the bank's dates are compared with each
/// other, so neither a time zone nor a wrong clock matters.
public struct ReceiptReconciliation: Sendable, Hashable {
    /// The differences, in the order of the receipts, then of the history.
    public internal(set) var differences: [Difference] = []
    /// Resolved differences: their ``Difference/conclusion`` was written into the receipts.
    public internal(set) var settled: [Difference] = []
    /// The number of receipts that agree with the history.
    public internal(set) var agreeingCount = 0
    /// The numbers of the receipts that the history says nothing about.
    public internal(set) var incomparable: [Incomparability: [UInt64]] = [:]

    /// A disagreement between receipts and history.
    public struct Difference: Sendable, Hashable {
        /// The kind of difference.
        public let kind: Kind
        /// The operation's identifier; `nil` when it was erased from the receipt.
        public let operationID: String?
        /// The operation's status in the history; `nil` if the history lacks it.
        public let status: UserOperation.Status?
        /// The receipts concerned; may be empty.
        public let receipts: [DecisionReceipt]
        /// The result that the history proves for an open receipt; `nil` if it proves nothing.
        public let conclusion: DecisionOutcome.Result?
    }

    /// The reason why a receipt cannot be compared.
    public enum Incomparability: String, Sendable, Hashable, CaseIterable {
        /// The history does not reach back to the operation, or its reach is unknown.
        case beyondReach
        /// The operation's identifier was erased.
        case erased
        /// The operation has a status unknown to this version.
        case unrecognizedStatus
        /// The receipt says that its outcome is unknown.
        case unknownOutcome
        /// The receipt was written or changed during the fetch of the history.
        case justWritten
    }
}

extension ReceiptReconciliation.Difference {
    /// A kind of difference. A struct, so that a new kind breaks no caller's `switch`.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        /// The name of the kind, such as `notCarriedOut`.
        public let description: String

        /// The bank confirmed the decision, but lists another outcome.
        public static let notCarriedOut = Self(description: "notCarriedOut")
        /// The counter suggested that the decision was carried out, but the bank lists another outcome.
        public static let wrongInference = Self(description: "wrongInference")
        /// The receipt says the decision failed and no other receipt claims the operation, yet the bank lists it with that
        /// outcome.
        public static let carriedOut = Self(description: "carriedOut")
        /// The bank lists a decision that no receipt claims.
        public static let decidedElsewhere = Self(description: "decidedElsewhere")
        /// The history proves what the receipt left open; see ``ReceiptReconciliation/Difference/conclusion``.
        public static let provable = Self(description: "provable")
        /// The operation ended as decided; neither the receipt nor the history shows by whom.
        public static let unattributed = Self(description: "unattributed")
        /// The receipt is open, and the history does not resolve it.
        public static let open = Self(description: "open")
        /// Two receipts claim one operation.
        public static let claimedTwice = Self(description: "claimedTwice")
        /// The bank confirmed a decision but does not list the operation, though its history reaches further back.
        public static let missing = Self(description: "missing")
    }
}

extension ReceiptReconciliation.Difference: CustomStringConvertible {
    /// The kind, the operation and a sentence.
    public var description: String {
        let operation = self.operationID.map { DisplayText.escaped($0, limit: 64) } ?? "(erased)"
        return "\(self.kind) \(operation): \(self.sentence)"
    }

    /// The difference, as a sentence for people.
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
    fileprivate var result: String { self.outcome?.result.description ?? "open" }
}
