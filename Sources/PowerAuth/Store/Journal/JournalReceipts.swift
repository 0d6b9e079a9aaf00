/// The outcome of an intent, sealed.
package struct SealedOutcome: Sendable {
    package let sealed: SealedReceipt
    /// The weight of the outcome; see ``DecisionOutcome/Result/weight``.
    package let weight: Int
    package let key: Int64
    /// The tag of the swap that wrote the intent; `nil` means the latest intent of that move.
    package let tag: WriteTag?
    /// The intent itself, to be written again if a store that was put back has lost it.
    package let intent: SealedReceipt?

    package init(sealed: SealedReceipt, weight: Int, key: Int64, tag: WriteTag?, intent: SealedReceipt?) {
        self.sealed = sealed
        self.weight = weight
        self.key = key
        self.tag = tag
        self.intent = intent
    }
}

/// The end of an append.
package enum AppendAnswer: Sendable, Equatable {
    case written
    /// Known already, or there is no such intent.
    case notBetter
    /// The key is not the one that the store is sealed with now.
    case otherKey
}

/// A question for entries of the receipts.
package enum ReceiptQuery: Sendable {
    /// The intents of an activation, or of all, whose fate has to be found out, oldest first.
    case open(of: String?)
    /// Some open intents of a selection, behind a number.
    case openSelected(ReceiptSelection, after: UInt64)
    /// All entries behind a number.
    case entries(after: UInt64, limit: Int)
    /// Intents with their latest outcomes, behind a number.
    case receipts(of: String?, after: UInt64, limit: Int)
}

/// Some entries of the receipts.
package struct ReceiptPage: Sendable {
    package var rows: [ReceiptRow]
    /// The number behind which the next page begins; `nil` when there is nothing behind this one.
    package var end: UInt64?

    package init(rows: [ReceiptRow], end: UInt64? = nil) {
        self.rows = rows
        self.end = end
    }
}

/// An entry, and the latest outcome where receipts were asked for.
package struct ReceiptRow: Sendable {
    package struct Outcome: Sendable {
        package let key: Int64
        package let sealed: SealedReceipt

        package init(key: Int64, sealed: SealedReceipt) {
            self.key = key
            self.sealed = sealed
        }
    }

    package let number: UInt64
    /// The tag of the swap that wrote the intent.
    package let tag: WriteTag
    /// The number of the intent, when this is an outcome.
    package let intent: UInt64?
    package let key: Int64
    package let sealed: SealedReceipt
    package let outcome: Outcome?

    package init(
        number: UInt64,
        tag: WriteTag,
        intent: UInt64?,
        key: Int64,
        sealed: SealedReceipt,
        outcome: Outcome?
    ) {
        self.number = number
        self.tag = tag
        self.intent = intent
        self.key = key
        self.sealed = sealed
        self.outcome = outcome
    }
}
