import Coordination
import Foundation
import Synchronization

/// Keeps activations in memory: for tests, and for programs that activate anew at every start.
///
/// Of the receipts of decisions it keeps the latest ten thousand entries at least, and forgets the oldest beyond twice that.
public final class InMemoryActivationStore: ActivationStore {
    private struct State {
        var records: [String: ActivationRecord] = [:]
        var order: [String] = []
        var receipts = ReceiptRows(maximumCount: 10_000)
        var decisionPause: DecisionPause?
    }

    private let state = Mutex(State())
    /// The order of signatures.
    let gate = Gate()

    /// Creates an empty store.
    public init() {}

    /// Returns the identifiers of all activations held, oldest first.
    public func activationIDs() async throws -> [String] {
        self.state.withLock { $0.order }
    }

    /// Returns one activation as it stands now, or `nil`.
    public func record(of activationID: String) async throws -> ActivationRecord? {
        self.state.withLock { $0.records[activationID] }
    }

    /// Adds an activation, or throws `activationAlreadyStored`.
    public func insert(_ record: ActivationRecord) async throws {
        try self.state.withLock { state in
            guard state.records[record.activationID] == nil else { throw MobileTokenError.alreadyStored() }
            state.records[record.activationID] = record
            state.order.append(record.activationID)
        }
    }

    /// Reads, changes and writes one activation in a single step; see ``ActivationStore/update(_:_:)``.
    @discardableResult
    public func update<Result: Sendable>(
        _ activationID: String,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        try await self.update(activationID, recordingIfAny: nil, change)
    }

    private func update<Result: Sendable>(
        _ activationID: String,
        recordingIfAny intent: DecisionIntent?,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        try self.state.withLock { state in
            if let pause = state.decisionPause, intent?.isAutomatic == true {
                throw MobileTokenError.decidingPaused(pause)
            }
            guard var record = state.records[activationID] else { throw MobileTokenError.notStored() }
            let before = record.counterMoves
            let result = try change(&record)
            state.records[activationID] = record
            if let intent, record.counterMoves != before {
                state.receipts.append(RecordedIntent(intent, moves: record.counterMoves))
            }
            return result
        }
    }

    /// Forgets an activation with its tokens and factors.
    public func remove(_ activationID: String) async throws {
        self.state.withLock { state in
            guard state.records.removeValue(forKey: activationID) != nil else { return }
            state.order.removeAll { $0 == activationID }
        }
    }

    /// Runs `body` when it is its turn to sign; see ``ActivationStore/withSigningTurn(of:_:)``.
    public func withSigningTurn<Result: Sendable>(
        of activationID: String,
        _ body: @Sendable (SigningTurn) async throws -> Result
    ) async throws -> Result {
        guard self.state.withLock({ $0.records[activationID] != nil }) else { throw MobileTokenError.notStored() }
        try await self.gate.enter(activationID)
        defer { self.gate.leave(activationID) }
        return try await body(SigningTurn(of: activationID, in: self))
    }
}

extension InMemoryActivationStore: DecisionJournal {
    /// Changes an activation and adds an intent in a single step; see ``DecisionJournal/update(_:recording:_:)``.
    @discardableResult
    public func update<Result: Sendable>(
        _ activationID: String,
        recording intent: DecisionIntent,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        try await self.update(activationID, recordingIfAny: intent, change)
    }

    /// Adds what became of an intent; see ``DecisionJournal/record(_:ofMove:of:)``.
    public func record(_ outcome: DecisionOutcome, ofMove moves: UInt64, of activationID: String) async throws {
        self.state.withLock { $0.receipts.record(outcome, ofMove: moves, of: activationID) }
    }

    /// Returns the intents whose fate has still to be found out, oldest first.
    public func openDecisions(of activationID: String) async throws -> [OpenDecision] {
        self.state.withLock { $0.receipts.openDecisions(of: activationID) }
    }

    /// Returns a page of receipts, oldest first.
    public func receipts(
        of activationID: String?,
        after number: UInt64,
        limit: Int
    ) async throws -> [DecisionReceipt] {
        self.state.withLock { $0.receipts.receipts(of: activationID, after: number, limit: limit) }
    }

    /// Returns a page of entries, in the order in which they were written.
    public func receiptEntries(after number: UInt64, limit: Int) async throws -> [ReceiptEntry] {
        self.state.withLock { $0.receipts.entries(after: number, limit: limit) }
    }

    /// Erases the personal data of receipts; see ``DecisionJournal/eraseReceipts(_:)``.
    @discardableResult
    public func eraseReceipts(_ selection: ReceiptSelection) async throws -> Int {
        let unknown = DecisionOutcome(.unknown, localDate: Date(), serverDate: nil)
        return self.state.withLock { $0.receipts.erase(selection, unknown: unknown) }
    }

    /// Returns the pause of automatic decisions; `nil` while agents may decide.
    public func decisionPause() async throws -> DecisionPause? { self.state.withLock { $0.decisionPause } }

    /// Stops automatic decisions, or lets them go on; see ``DecisionJournal/setDecisionPause(_:)``.
    public func setDecisionPause(_ pause: DecisionPause?) async throws {
        self.state.withLock { $0.decisionPause = pause }
    }
}
