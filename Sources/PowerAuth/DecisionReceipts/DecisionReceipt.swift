import Basics

/// A recorded decision: its intent and its outcome.
public struct DecisionReceipt: Sendable, Hashable {
    /// The number of the intent's entry; see `ActivationStore`.
    public let number: UInt64
    /// The intended decision.
    public let intent: Intent
    /// The latest outcome; `nil` before any response.
    public let outcome: DecisionOutcome?
    /// The tag of the write that moved the counter; `nil` if unknown.
    package let tag: WriteTag?

    package init(number: UInt64, intent: Intent, outcome: DecisionOutcome?, tag: WriteTag?) {
        self.number = number
        self.intent = intent
        self.outcome = outcome
        self.tag = tag
    }

    /// Returns whether this is the decision's receipt, and not that of another one with the same number.
    package func isOf(_ decision: OpenDecision) -> Bool {
        self.intent.moves == decision.moves && self.intent.activationID.isExactly(decision.intent.activationID)
            && (self.tag == nil || decision.tag == nil || self.tag == decision.tag)
    }
}

extension DecisionReceipt {
    /// Creates a receipt from a store's data.
    public init(number: UInt64, intent: Intent, outcome: DecisionOutcome?) {
        self.init(number: number, intent: intent, outcome: outcome, tag: nil)
    }

    /// One entry of the receipts: an intent or an outcome.
    public struct Entry: Sendable, Hashable {
        /// The content of an entry.
        public enum Content: Sendable, Hashable {
            /// A decision is about to be made.
            case intent(Intent)
            /// The outcome of the intent with this number.
            case outcome(DecisionOutcome, ofIntent: UInt64)
            /// The entry was tampered with and cannot be decrypted.
            case unreadable
        }

        /// The position in the receipts: 1, 2, 3 and so on.
        public let number: UInt64
        /// The content.
        public let content: Content

        /// Creates an entry from a store's data.
        public init(number: UInt64, _ content: Content) {
            self.number = number
            self.content = content
        }
    }
}
