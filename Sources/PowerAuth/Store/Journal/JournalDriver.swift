package import Foundation

/// A database of sealed rows: all that an ``ActivationStore`` asks of SQLite, PostgreSQL or memory.
///
/// A driver holds no key, opens no record and knows no rule of counters. Each call is one transaction of its own, and durable when
/// it returns, unless it says otherwise. A call that throws `storeOutcomeUnknown` may have been carried out: the same call with
/// the same tags, repeated, has one effect in all, and keeps a lost first one from writing later. Only an outcome that is open may
/// be appended twice so: another entry then says the same.
package protocol JournalDriver: Sendable {
    /// Opens the database if need be, and returns what is known of it now.
    func open() async throws -> StoreFacts

    /// Makes another sealing key known, unless the keys are not `known` any more; returns those that are known then.
    func addKey(_ check: [UInt8], to known: [StoreFacts.Key]) async throws -> [StoreFacts.Key]

    /// Lets go of the database. Turns that have begun change nothing any more, as if another process had taken over.
    func close() async

    // MARK: Activations

    /// Reads an activation, with all that a change of it depends on, in one statement; `nil` when there is none.
    func load(_ activationID: String) async throws -> LoadedRow?

    /// Writes a change, its tag and its intent, all or nothing, if the row is still the one that was loaded.
    func swap(_ change: RowChange) async throws -> SwapAnswer

    /// Adds an activation.
    func insert(_ row: NewRow) async throws -> InsertAnswer

    /// Shows that there is room for an activation: adds it in a transaction that is taken back, and commits and deletes something
    /// else.
    ///
    /// - Returns: `false` when the key is not the one that the store is sealed with now.
    func rehearse(_ row: NewRow) async throws -> Bool

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

    /// Deletes some receipts; see ``ActivationStore/pruneReceipts(after:before:decidedBefore:)``.
    func pruneReceipts(after number: UInt64, before last: UInt64, decidedBefore date: Date) async throws
        -> PrunedReceipts

    /// Overwrites what was erased, deleted or removed, where that takes a step of its own.
    func overwriteDeleted() async throws

    /// Notes where an export ended.
    func note(_ export: ExportNote) async throws

    /// Counts what an operator watches.
    func receiptFigures() async throws -> ActivationStore.ReceiptFigures

    // MARK: Pausing

    /// Returns the pause of automatic decisions.
    func decisionPause() async throws -> DecisionPause?

    /// Sets or ends the pause. When it returns, no automatic change commits that has not seen it.
    func setDecisionPause(_ pause: DecisionPause?) async throws
}
