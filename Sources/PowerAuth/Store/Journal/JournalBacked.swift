package import Foundation
package import PowerAuthProtocol

/// A store that is a ``Journal``, under the name that users know.
package protocol JournalBacked: PrunableJournal {
    var journal: Journal { get }
}

extension JournalBacked {
    /// Opens the store, and writes and takes back what takes as much room as an activation, both durably.
    public func prove() async throws { try await self.journal.prove() }

    /// Shows that every process which shares the store now could read an activation of a version of the protocol.
    public func checkReaders(of version: ProtocolVersion) async throws {
        try await self.journal.checkReaders(of: version)
    }

    /// Returns the identifiers of all activations held, oldest first.
    public func activationIDs() async throws -> [String] { try await self.journal.activationIDs() }

    /// Returns one activation as it stands now, or `nil`.
    public func record(of activationID: String) async throws -> ActivationRecord? {
        try await self.journal.record(of: activationID)
    }

    /// Adds an activation, or throws `activationAlreadyStored`.
    public func insert(_ record: ActivationRecord) async throws { try await self.journal.insert(record) }

    /// Reads, changes and writes one activation in a single step; see ``ActivationStore/update(_:_:)``.
    ///
    /// `change` is called again, of the newer state, when another task or process was quicker.
    @discardableResult
    public func update<Result: Sendable>(
        _ activationID: String,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        try await self.journal.update(activationID, change)
    }

    /// Changes an activation and adds an intent in a single step; see ``DecisionJournal/update(_:recording:_:)``.
    @discardableResult
    public func update<Result: Sendable>(
        _ activationID: String,
        recording intent: DecisionIntent,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        try await self.journal.update(activationID, recording: intent, change)
    }

    /// Returns whether an activation is being upgraded, by this process or another one: as it was a second ago at most.
    public func isUpgrading(_ activationID: String) async throws -> Bool {
        try await self.journal.isUpgrading(activationID)
    }

    /// Forgets an activation with its tokens and factors.
    public func remove(_ activationID: String) async throws { try await self.journal.remove(activationID) }

    /// Runs `body` when it is its turn to sign; see ``ActivationStore/withSigningTurn(of:_:)``.
    public func withSigningTurn<Result: Sendable>(
        of activationID: String,
        _ body: @Sendable (SigningTurn) async throws -> Result
    ) async throws -> Result {
        try await self.journal.withSigningTurn(of: activationID, body)
    }

    /// Adds what became of an intent; see ``DecisionJournal/record(_:ofMove:of:)``.
    ///
    /// An outcome that cannot be written is kept, and written as soon as it can be.
    public func record(_ outcome: DecisionOutcome, ofMove moves: UInt64, of activationID: String) async throws {
        try await self.journal.record(outcome, ofMove: moves, of: activationID)
    }

    /// Adds what became of an open decision; see ``DecisionJournal/record(_:of:)``.
    public func record(_ outcome: DecisionOutcome, of decision: OpenDecision) async throws {
        try await self.journal.record(outcome, of: decision)
    }

    /// Returns the intents whose fate has still to be found out, oldest first.
    public func openDecisions(of activationID: String) async throws -> [OpenDecision] {
        try await self.journal.openDecisions(of: activationID)
    }

    /// Returns a page of receipts, oldest first.
    ///
    /// A receipt that cannot be opened, because its bytes were changed, is passed over; ``receiptEntries(after:limit:)`` names
    /// it.
    public func receipts(
        of activationID: String?,
        after number: UInt64,
        limit: Int
    ) async throws -> [DecisionReceipt] {
        try await self.journal.receipts(of: activationID, after: number, limit: limit)
    }

    /// Returns a page of entries, in the order in which they were written. One that cannot be opened, because its bytes were
    /// changed, is `ReceiptEntry/Content/unreadable`.
    public func receiptEntries(after number: UInt64, limit: Int) async throws -> [ReceiptEntry] {
        try await self.journal.receiptEntries(after: number, limit: limit)
    }

    /// Erases the personal data of receipts, in steps that are committed one by one; see ``DecisionJournal/eraseReceipts(_:)``.
    /// Interrupted, it may be repeated.
    @discardableResult
    public func eraseReceipts(_ selection: ReceiptSelection) async throws -> Int {
        try await self.journal.eraseReceipts(selection)
    }

    /// Deletes some receipts that are kept elsewhere, in one short commit; see
    /// ``PrunableJournal/pruneReceipts(after:before:decidedBefore:)``.
    public func pruneReceipts(
        after number: UInt64,
        before last: UInt64,
        decidedBefore date: Date
    ) async throws -> PrunedReceipts {
        try await self.journal.pruneReceipts(after: number, before: last, decidedBefore: date)
    }

    /// Notes where an export ended; see ``PrunableJournal/noteExport(upTo:at:)``.
    public func noteExport(upTo number: UInt64, at date: Date) async throws {
        try await self.journal.noteExport(upTo: number, at: date)
    }

    /// Returns what an operator watches.
    public func receiptFigures() async throws -> ReceiptFigures { try await self.journal.receiptFigures() }

    /// Returns the pause of automatic decisions; `nil` while agents may decide.
    public func decisionPause() async throws -> DecisionPause? { try await self.journal.decisionPause() }

    /// Stops automatic decisions in every process that shares the store, or lets them go on; see
    /// ``DecisionJournal/setDecisionPause(_:)``.
    public func setDecisionPause(_ pause: DecisionPause?) async throws {
        try await self.journal.setDecisionPause(pause)
    }
}
