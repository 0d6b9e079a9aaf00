package import DecisionReceipts

package struct SealedOutcome: Sendable {
    package let sealed: SealedReceipt
    /// The weight of the outcome; see ``DecisionOutcome/Result/weight``.
    package let weight: Int
    package let key: Int64
    /// The tag of the intent's swap; `nil` for the latest intent with that move.
    package let tag: WriteTag?
    /// The intent, written again if a restored store lacks it.
    package let intent: SealedReceipt?
    /// The outcome that is written with ``intent`` instead, and its weight; `nil` for the same.
    private let outcomeWithIntent: (sealed: SealedReceipt, weight: Int)?
    /// Indicates that the decision certainly came to nothing, so its charges to limits are taken back.
    package let releasesCharges: Bool

    package init(
        sealed: SealedReceipt,
        weight: Int,
        key: Int64,
        tag: WriteTag?,
        intent: SealedReceipt?,
        releasesCharges: Bool = false,
        withIntent outcomeWithIntent: (sealed: SealedReceipt, weight: Int)? = nil
    ) {
        self.sealed = sealed
        self.weight = weight
        self.key = key
        self.tag = tag
        self.intent = intent
        self.releasesCharges = releasesCharges
        self.outcomeWithIntent = outcomeWithIntent
    }

    /// The outcome to add once the intent was written again.
    package var withRestoredIntent: Self {
        guard let instead = self.outcomeWithIntent else { return self }
        return Self(
            sealed: instead.sealed,
            weight: instead.weight,
            key: self.key,
            tag: self.tag,
            intent: nil,
            releasesCharges: self.releasesCharges
        )
    }
}

package enum AppendAnswer: Sendable, Equatable {
    case written
    /// The outcome is known already, or there is no such intent.
    case notBetter
    /// The key is not the store's current one.
    case otherKey
}

package enum ReceiptQuery: Sendable {
    /// The open intents of an activation, or of all, oldest first.
    case open(of: String?)
    /// Some open intents of a selection, after a number.
    case openSelected(ReceiptSelection, after: UInt64)
    /// All entries after a number.
    case entries(after: UInt64, limit: Int)
    /// Intents with their latest outcomes, after a number.
    case receipts(of: String?, after: UInt64, limit: Int)
}

package struct ReceiptPage: Sendable {
    package var rows: [ReceiptRow]
    /// The number after which the next page begins; `nil` if this is the last.
    package var end: UInt64?

    package init(rows: [ReceiptRow], end: UInt64? = nil) {
        self.rows = rows
        self.end = end
    }
}

/// An entry, with its latest outcome in a query for receipts.
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
    /// The tag of the intent's swap.
    package let tag: WriteTag
    /// The number of the intent, if this is an outcome.
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
