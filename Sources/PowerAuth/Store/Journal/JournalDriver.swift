package import Foundation

/// A database of sealed rows: all that a ``Journal`` asks of SQLite, PostgreSQL or memory.
///
/// A driver holds no key, opens no record and knows no rule of counters. Each call is one transaction of its own, and durable when
/// it returns, unless it says otherwise. A call that throws `storeOutcomeUnknown` may have been carried out: the same call with
/// the same tags, repeated, has one effect in all, and keeps a lost first one from writing later.
package protocol JournalDriver: Sendable {
    /// Opens the database if need be, and returns what is known of it now.
    func open() async throws -> StoreFacts

    /// Makes another sealing key known, unless the keys are not `known` any more; returns those that are known then.
    func addKey(_ check: [UInt8], to known: [StoreFacts.Key]) async throws -> [StoreFacts.Key]

    /// Lets go of the database. Turns that have begun keep their right until they end.
    func close() async

    // MARK: Activations

    /// Reads an activation, with all that a change of it depends on, in one statement; `nil` when there is none.
    func load(_ activationID: String) async throws -> LoadedRow?

    /// Writes a change, its tag and its intent, all or nothing, if the row is still the one that was loaded.
    func swap(_ change: RowChange) async throws -> SwapAnswer

    /// Adds an activation.
    ///
    /// - Parameter isRehearsal: Whether it is taken back within its transaction, and something else committed and deleted, to show
    ///   that there is room.
    func insert(_ row: NewRow, isRehearsal: Bool) async throws -> InsertAnswer

    /// Forgets an activation. Receipts stay, and its slot is never given again.
    ///
    /// - Returns: Its slot; `nil` when there was none.
    func remove(_ activationID: String) async throws -> Int64?

    /// Returns the identifiers of activations, oldest first.
    func activationIDs(_ filter: RowFilter) async throws -> [String]

    /// Throws `storeHasOlderNodes` unless every process that shares the store reads a form of activations.
    func checkReaders(of format: RecordFormat) async throws

    /// Begins another epoch of the store because a counter is behind its mark, unless one has begun since.
    ///
    /// - Returns: `false` when the store counts no epochs.
    func beginEpoch(after epoch: Int64) async throws -> Bool

    /// Runs `body` when it is its turn to sign with an activation: alone among all who share the store, in order of arrival
    /// within a process, and nobody is passed over for ever. Canceled only while it waits.
    ///
    /// - Parameter slot: Its slot, where that is known already.
    /// - Throws: `activationNotStored`, `CancellationError`, and what `body` throws.
    func withTurn<Result: Sendable>(
        of activationID: String,
        slot: Int64?,
        _ body: @Sendable (Turn) async throws -> Result
    ) async throws -> Result

    // MARK: Receipts

    /// Adds an outcome to its intent if it weighs more than the latest one, or as much and is open.
    ///
    /// A power failure may take it back; the death of the process may not. Asks for no lock and no pause.
    func append(_ outcome: SealedOutcome) async throws -> AppendAnswer

    /// Reads entries.
    func receipts(_ query: ReceiptQuery) async throws -> ReceiptPage

    /// Erases the personal data of some selected receipts that are not open.
    func eraseReceipts(_ selection: ReceiptSelection, after number: UInt64) async throws -> PrunedReceipts

    /// Deletes some receipts; see ``PrunableJournal/pruneReceipts(after:before:decidedBefore:)``.
    func pruneReceipts(after number: UInt64, before last: UInt64, decidedBefore date: Date) async throws
        -> PrunedReceipts

    /// Overwrites what was erased, deleted or removed, where that takes a step of its own.
    func overwriteDeleted() async throws

    /// Notes where an export ended.
    func note(_ export: ExportNote) async throws

    /// Counts what an operator watches.
    func receiptFigures() async throws -> ReceiptFigures

    // MARK: Pausing

    /// Returns the pause of automatic decisions.
    func decisionPause() async throws -> DecisionPause?

    /// Sets or ends the pause. When it returns, no automatic change commits that has not seen it.
    func setDecisionPause(_ pause: DecisionPause?) async throws
}

// MARK: - Facts and rows

/// The facts that a driver tells of an open store.
package struct StoreFacts: Sendable {
    /// A sealing key: its number, and what it is recognized by.
    package struct Key: Sendable, Equatable {
        package let number: Int64
        package let check: [UInt8]

        package init(number: Int64, check: [UInt8]) {
            self.number = number
            self.check = check
        }
    }

    /// The keys that anything may be sealed with.
    package var keys: [Key]
    /// The marks, which are kept outside of the database; `nil` where a store cannot be put back.
    package var marks: HighWaterMarks?
    /// Indicates that other processes may change the store.
    package var isShared: Bool
    /// The time for which a call is repeated whose outcome is unknown.
    package var patience: Duration

    package init(
        keys: [Key],
        marks: HighWaterMarks? = nil,
        isShared: Bool = false,
        patience: Duration = .zero
    ) {
        self.keys = keys
        self.marks = marks
        self.isShared = isShared
        self.patience = patience
    }
}

/// Eight random bytes that name a state of a row: new with every write, and never a count, which would come back with a backup.
package struct WriteTag: RawRepresentable, Sendable, Hashable {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    package static func random() -> Self { Self(rawValue: .random(in: .min ... .max)) }
}

/// An activation as one statement found it.
package struct LoadedRow: Sendable, Equatable {
    /// The number that stands for it, in the tables and among the marks.
    package var slot: Int64
    /// The tag of the latest write.
    package var tag: WriteTag
    /// The lease of the node that may sign; `nil` when there is none, or turns need no such lease.
    package var holder: Int64?
    /// The number of the key that its fields are sealed with.
    package var key: Int64
    package var sealed: SealedActivation
    /// The form that other processes take it for.
    package var format: RecordFormat
    package var pause: DecisionPause?
    /// The epoch of the store in which this was read.
    package var epoch: Int64
    /// The epoch in which the counter was last known not to have been put back.
    package var comparedEpoch: Int64

    package init(
        slot: Int64,
        tag: WriteTag,
        holder: Int64? = nil,
        key: Int64,
        sealed: SealedActivation,
        format: RecordFormat,
        pause: DecisionPause? = nil,
        epoch: Int64 = 0,
        comparedEpoch: Int64 = 0
    ) {
        self.slot = slot
        self.tag = tag
        self.holder = holder
        self.key = key
        self.sealed = sealed
        self.format = format
        self.pause = pause
        self.epoch = epoch
        self.comparedEpoch = comparedEpoch
    }

    /// Indicates that the counter may have been put back since it was last compared with the server's.
    var wasPutBack: Bool { self.comparedEpoch != self.epoch }

    /// Returns the change that seals all fields with another key, which needs no right to sign.
    package func resealed(from former: Sealing, to sealing: Sealing, key: Int64) throws -> RowChange {
        let resealed = try former.reseal(self.sealed, with: sealing)
        return RowChange(
            activationID: self.sealed.activationID,
            slot: self.slot,
            tag: self.tag,
            fence: nil,
            epoch: self.epoch,
            newTag: .random(),
            comparedEpoch: self.comparedEpoch,
            fields: SealedActivation.Changes(written: resealed.fields, removed: []),
            key: key,
            format: nil,
            intent: nil,
            heedsPause: false
        )
    }

    /// Returns the row as a change leaves it.
    func applying(_ change: RowChange) -> Self {
        var row = self
        row.tag = change.newTag
        row.key = change.key
        row.sealed = self.sealed.applying(change.fields)
        row.format = change.format ?? self.format
        row.comparedEpoch = change.comparedEpoch
        return row
    }
}

/// An activation to be added.
package struct NewRow: Sendable {
    package let sealed: SealedActivation
    package let tag: WriteTag
    package let key: Int64
    package let format: RecordFormat

    package init(sealed: SealedActivation, tag: WriteTag, key: Int64, format: RecordFormat) {
        self.sealed = sealed
        self.tag = tag
        self.key = key
        self.format = format
    }
}

/// A change of an activation, to be written all or nothing.
package struct RowChange: Sendable {
    package let activationID: String
    /// The slot, the tag, the lease and the epoch that the row must still have.
    package let slot: Int64
    package let tag: WriteTag
    package let fence: Int64?
    package let epoch: Int64
    package let newTag: WriteTag
    package let comparedEpoch: Int64
    package let fields: SealedActivation.Changes
    /// The number of the key that fields and intent are sealed with.
    package let key: Int64
    /// The form that the row gets, which every living process must read; `nil` when it stays.
    package let format: RecordFormat?
    /// The decision that the move of the counter is about to make. It is known by ``newTag`` too.
    package let intent: SealedReceipt?
    /// Lets a pause keep it from being written.
    package let heedsPause: Bool
}

/// The end of a swap. Nothing was written but by ``written``.
package enum SwapAnswer: Sendable, Equatable {
    /// It was written, now or by an earlier attempt with the same tag.
    case written
    /// Something else was written since the row was loaded.
    case otherTag
    case gone
    /// Another node may sign.
    case fenceLost
    /// The store was put back since the row was loaded.
    case otherEpoch
    /// Nodes of these names cannot read the new form.
    case olderNodes([String])
    case paused(DecisionPause)
}

package enum InsertAnswer: Sendable, Equatable {
    case written(slot: Int64)
    /// There is an activation of that identifier.
    case held
    /// The key is not the one that the store is sealed with now.
    case otherKey
}

package enum RowFilter: Sendable {
    case all
    /// Those that are being upgraded to another version of the protocol.
    case upgrading
}

/// The right to sign with one activation, as a driver gives it.
package struct Turn: Sendable {
    package let slot: Int64
    /// The lease under which changes are written; `nil` where a lock is enough.
    package var fence: Int64?
    /// Returns when the right ends unless it is renewed, as it is known at this moment; `nil` for one that only its holder ends.
    package var notAfter: @Sendable () -> ContinuousClock.Instant? = { nil }

    package init(
        slot: Int64,
        fence: Int64? = nil,
        notAfter: @escaping @Sendable () -> ContinuousClock.Instant? = { nil }
    ) {
        self.slot = slot
        self.fence = fence
        self.notAfter = notAfter
    }
}

// MARK: - Receipts

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
    /// The intents of an activation whose fate has to be found out, oldest first.
    case open(of: String)
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
    /// The number of the intent, when this is an outcome.
    package let intent: UInt64?
    package let key: Int64
    package let sealed: SealedReceipt
    package let outcome: Outcome?

    package init(number: UInt64, intent: UInt64?, key: Int64, sealed: SealedReceipt, outcome: Outcome?) {
        self.number = number
        self.intent = intent
        self.key = key
        self.sealed = sealed
        self.outcome = outcome
    }
}
