import Basics

/// A decision as it was recorded: what was to be decided, and what became of it.
public struct DecisionReceipt: Sendable, Hashable {
    /// The number of the intent's entry; see ``ActivationStore``.
    public let number: UInt64
    /// The decision that was to be made.
    public let intent: Intent
    /// The outcome, as far as it is known; `nil` before there was any response.
    public let outcome: DecisionOutcome?
    /// The tag of the write that made the move; `nil` where it is not known.
    package let tag: WriteTag?

    /// Puts together a receipt from what a store kept.
    public init(number: UInt64, intent: Intent, outcome: DecisionOutcome?) {
        self.init(number: number, intent: intent, outcome: outcome, tag: nil)
    }

    init(number: UInt64, intent: Intent, outcome: DecisionOutcome?, tag: WriteTag?) {
        self.number = number
        self.intent = intent
        self.outcome = outcome
        self.tag = tag
    }

    /// Returns whether it is the receipt of a decision, and not of another one of the same number.
    func isOf(_ decision: OpenDecision) -> Bool {
        self.intent.moves == decision.moves && self.intent.activationID.isExactly(decision.intent.activationID)
            && (self.tag == nil || decision.tag == nil || self.tag == decision.tag)
    }
}

extension DecisionReceipt {
    /// One entry of the receipts: an intent, or what became of one.
    public struct Entry: Sendable, Hashable {
        /// The content of an entry.
        public enum Content: Sendable, Hashable {
            /// Something is about to be decided.
            case intent(Intent)
            /// Something became of an earlier entry, the intent of this number.
            case outcome(DecisionOutcome, ofIntent: UInt64)
            /// It is there, and cannot be opened: its bytes were changed where they are kept.
            case unreadable
        }

        /// The place in the receipts: 1, 2, 3 and so on.
        public let number: UInt64
        /// The content.
        public let content: Content

        /// Puts together an entry from what a store kept.
        public init(number: UInt64, _ content: Content) {
            self.number = number
            self.content = content
        }
    }
}
