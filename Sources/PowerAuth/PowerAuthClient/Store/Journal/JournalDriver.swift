package import DecisionReceipts
package import Foundation

/// A database of sealed rows, as an ``ActivationStore`` needs it: SQLite, PostgreSQL or memory. A driver has no key, decrypts
/// nothing and knows no counter rules. Each call is a transaction, durable on return unless stated otherwise. After
/// `storeOutcomeUnknown` the call may have been carried out; repeating it with the same tags has one effect in all, and stops the
/// lost first one. Only an open outcome may be appended twice, as an equal entry.
package protocol JournalDriver: Sendable {
    /// Opens the database if necessary, and returns its current facts.
    func open() async throws -> StoreFacts

    /// Adds a sealing key, unless the keys differ from `known`; returns the resulting keys.
    func addKey(_ check: [UInt8], to known: [StoreFacts.Key]) async throws -> [StoreFacts.Key]

    /// Closes the database. Turns in progress can change nothing afterwards, as if another process had taken over.
    func close() async

    // MARK: Activations

    /// Reads an activation and everything that its change depends on, in one statement; `nil` if there is none.
    func load(_ activationID: String) async throws -> LoadedRow?

    /// Writes a change with its tag and intent atomically, if the row is unchanged since it was loaded.
    func swap(_ change: RowChange) async throws -> SwapAnswer

    func insert(_ row: NewRow) async throws -> InsertAnswer

    /// Checks that there is room for an activation: inserts it in a transaction that is rolled back, and commits and deletes
    /// another row.
    ///
    /// - Returns: `false` if the key is not the store's current one.
    func rehearse(_ row: NewRow) async throws -> Bool

    /// Removes an activation, and returns its slot; `nil` if there was none. Receipts stay, and the slot is never reused.
    func remove(_ activationID: String) async throws -> Int64?

    func activationIDs(_ filter: RowFilter) async throws -> [String]

    /// Throws `storeHasOlderNodes` unless every process that shares the store can read the format.
    func checkReaders(of format: RecordFormat) async throws

    /// Begins a new epoch because a counter is behind its mark, unless one has begun since.
    ///
    /// - Returns: `false` if the store has no epochs.
    func beginEpoch(after epoch: Int64) async throws -> Bool

    /// Runs `body` in the activation's signing turn, exclusively among all users of the store. Turns are in order of arrival
    /// within a process, and no process starves. Cancellation only ends the wait.
    ///
    /// - Parameter slot: The slot, if already known.
    /// - Throws: `activationNotStored`, `CancellationError`, and the error of `body`.
    func withTurn<Result: Sendable>(
        of activationID: String,
        slot: Int64?,
        _ body: @Sendable (Turn) async throws -> Result
    ) async throws -> Result

    // MARK: Receipts

    /// Appends an outcome to its intent if it weighs more than the latest one, or the same and is open. A power failure may lose
    /// it; the death of the process may not. Ignores locks and pauses.
    func append(_ outcome: SealedOutcome) async throws -> AppendAnswer

    func receipts(_ query: ReceiptQuery) async throws -> ReceiptPage

    /// Erases the personal data of some selected receipts that are not open.
    func eraseReceipts(_ selection: ReceiptSelection, after number: UInt64) async throws -> PrunedReceipts

    /// Deletes some receipts; see ``ActivationStore/pruneReceipts(after:before:decidedBefore:)``.
    func pruneReceipts(after number: UInt64, before last: UInt64, decidedBefore date: Date) async throws
        -> PrunedReceipts

    /// Overwrites erased, deleted and removed data, if that takes a separate step.
    func overwriteDeleted() async throws

    func note(_ export: ExportNote) async throws

    func receiptFigures() async throws -> ReceiptFigures

    // MARK: Limits

    /// Returns what the windows of some checks hold.
    func limitUse(_ checks: [LimitCharges.Check]) async throws -> [Int64]

    /// The minute before which charges may be missing, after a restore: windows that begin before it are full.
    func limitClosure() async throws -> Int64?

    /// Closes the limits at a minute, or opens them. From then on, charges are not missing any more.
    func setLimitClosure(_ minute: Int64?) async throws

    // MARK: Pausing

    func decisionPause() async throws -> DecisionPause?

    /// Sets or ends the pause. After it returns, no automatic change commits without having seen it.
    func setDecisionPause(_ pause: DecisionPause?) async throws
}
