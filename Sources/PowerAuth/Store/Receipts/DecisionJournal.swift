import Basics
public import Foundation

/// A store that keeps receipts of decisions beside the counters that signed them.
///
/// A receipt is an intent, written in the durable step that moves the counter, and an outcome, written after the response. Each
/// of the two is an entry with a number: 1, 2, 3 and so on in the order of writing, without a gap. Nothing is ever changed
/// afterwards but that personal data are erased.
///
/// ``SQLiteActivationStore`` and ``InMemoryActivationStore`` are journals. A store of your own keeps what ``Sealing`` makes of
/// an intent and of an outcome, and shows with `ActivationStoreConformance` of `MobileTokenTesting` that it does all that is
/// asked here. A store that is none signs all the same, and leaves no receipts.
public protocol DecisionJournal: ActivationStore {
    /// Changes an activation as ``ActivationStore/update(_:_:)`` does, and writes an intent in the same durable step.
    ///
    /// An intent is known by its activation and by the number of the counter's move that its signature used up
    /// (``ActivationRecord/counterMoves`` as `change` left it). When `change` does not move the counter, no intent is
    /// written. When `change` throws, or there is no room for the intent, nothing is written at all.
    ///
    /// - Throws: ``MobileTokenError/Code/decidingPaused``, before `change` is called, when the intent
    ///   ``DecisionIntent/isAutomatic`` and there is a pause. The pause is read in the transaction that would move the counter:
    ///   no call that begins after ``setDecisionPause(_:)`` returned decides anything, in whatever process.
    @discardableResult
    func update<Result: Sendable>(
        _ activationID: String,
        recording intent: DecisionIntent,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result

    /// Writes what became of the intent of a move: another entry, if it ``DecisionOutcome/replaces(_:)`` the latest one of that
    /// intent. Does nothing otherwise, or when there is no such intent.
    ///
    /// A power failure may take back an outcome, and so leave its intent open; the death of the process may not.
    func record(_ outcome: DecisionOutcome, ofMove moves: UInt64, of activationID: String) async throws

    /// Writes what became of an open decision as ``record(_:ofMove:of:)`` does: of that very intent, where the store was put back since
    /// and another signature has the same number. The default implementation tells them apart by their number alone.
    func record(_ outcome: DecisionOutcome, of decision: OpenDecision) async throws

    /// The intents whose fate has still to be found out, oldest first: those without an outcome, or with an open one.
    func openDecisions(of activationID: String) async throws -> [OpenDecision]

    /// Reads a page of receipts, oldest first, each with the latest outcome.
    ///
    /// - Parameters:
    ///   - activationID: Of which activation, also of one that was removed; `nil` is all.
    ///   - number: The ``DecisionReceipt/number`` that the page begins behind; 0 is the beginning.
    ///   - limit: How many at most.
    func receipts(of activationID: String?, after number: UInt64, limit: Int) async throws -> [DecisionReceipt]

    /// Reads a page of entries, in the order in which they were written.
    ///
    /// - Parameters:
    ///   - number: The number that the page begins behind; 0 is the beginning.
    ///   - limit: How many at most.
    func receiptEntries(after number: UInt64, limit: Int) async throws -> [ReceiptEntry]

    /// Erases the personal data of receipts; all else stays. What has still to be found out gets the outcome `unknown`, since
    /// nobody could look for it any more.
    ///
    /// - Returns: How many receipts had personal data.
    @discardableResult
    func eraseReceipts(_ selection: ReceiptSelection) async throws -> Int

    /// Returns the pause of automatic decisions; `nil` while agents may decide.
    func decisionPause() async throws -> DecisionPause?

    /// Stops automatic decisions with all activations of the store, or lets them go on with `nil`. Durable when it returns.
    ///
    /// A pause takes the place of an earlier one. Decisions by hand, and all else, go on beside it.
    func setDecisionPause(_ pause: DecisionPause?) async throws
}

extension DecisionJournal {
    /// Writes what became of the latest intent of the decision's number.
    public func record(_ outcome: DecisionOutcome, of decision: OpenDecision) async throws {
        try await self.record(outcome, ofMove: decision.moves, of: decision.intent.activationID)
    }
}

/// An intent whose fate is not known.
public struct OpenDecision: Sendable, Hashable {
    /// The decision that was to be made.
    public let intent: DecisionIntent
    /// The number of the counter's move that its signature used up.
    public let moves: UInt64
    /// The tag of the write that made the move; `nil` where the store gives none.
    package let tag: WriteTag?

    /// Creates an open decision.
    public init(_ intent: DecisionIntent, moves: UInt64) { self.init(intent, moves: moves, tag: nil) }

    package init(_ intent: DecisionIntent, moves: UInt64, tag: WriteTag?) {
        self.intent = intent
        self.moves = moves
        self.tag = tag
    }
}

/// Which receipts to erase the personal data of.
public struct ReceiptSelection: Sendable, Hashable {
    /// Those of this activation; `nil` is any.
    public let activationID: String?
    /// Those decided before this moment, by the local clock; `nil` is any time.
    public let decidedBefore: Date?

    /// Selects the receipts of one activation, which need not be in the store any more.
    public static func activation(_ id: String) -> Self { Self(activationID: id, decidedBefore: nil) }

    /// Selects the receipts of decisions before a moment.
    public static func decided(before date: Date) -> Self { Self(activationID: nil, decidedBefore: date) }

    /// Returns whether these are personal data to be erased.
    func selects(_ intent: RecordedIntent) -> Bool {
        intent.personalData != nil && self.selects(intent.activationID, intent.localDate)
    }

    /// Returns whether these are personal data to be erased.
    func selects(_ intent: SealedReceipt) -> Bool {
        intent.personalData != nil && self.selects(intent.activationID, intent.date)
    }

    private func selects(_ activationID: String, _ date: Date) -> Bool {
        (self.activationID.map { activationID.isExactly($0) } ?? true) && (self.decidedBefore.map { date < $0 } ?? true)
    }
}

extension SigningTurn {
    /// Changes the activation, durably, and writes the intent in the same step where the store keeps receipts.
    package func update<Result: Sendable>(
        recording intent: DecisionIntent?,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        guard let intent, let journal = self.store as? any DecisionJournal else { return try await self.update(change) }
        if let turn, let journal = journal as? Journal {
            return try await journal.update(self.activationID, recording: intent, in: turn, change)
        }
        return try await journal.update(self.activationID, recording: intent, change)
    }

    /// Returns a decision that was written with a move of the counter, by the name that its store has for it.
    package func written(_ intent: DecisionIntent, moves: UInt64) -> OpenDecision {
        OpenDecision(intent, moves: moves, tag: (self.store as? Journal)?.tag(ofMove: moves, of: self.activationID))
    }

    /// Writes what became of a decision.
    ///
    /// Does not throw: the decision is made. A row that lacks its outcome is open, and resolved like that of a process which
    /// was killed here.
    ///
    /// - Returns: Why it could not be written.
    package func record(_ outcome: DecisionOutcome, of decision: OpenDecision) async -> MobileTokenError? {
        guard let journal = self.store as? any DecisionJournal else { return nil }
        do {
            try await MobileTokenError.mapStoreErrors { try await journal.record(outcome, of: decision) }
            return nil
        } catch {
            return error as? MobileTokenError ?? MobileTokenError(.storeFailed, "The outcome was not written")
        }
    }
}
