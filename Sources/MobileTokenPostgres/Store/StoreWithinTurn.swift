import PowerAuth

/// The store as a signing turn sees it: changes are written only while the node holds the right to sign.
struct StoreWithinTurn: DecisionJournal {
    let store: PostgresActivationStore
    let seat: Seat

    func activationIDs() async throws -> [String] { try await self.store.activationIDs() }

    func record(of activationID: String) async throws -> ActivationRecord? {
        try await self.store.record(of: activationID)
    }

    func insert(_ record: ActivationRecord) async throws { try await self.store.insert(record) }

    @discardableResult
    func update<Result: Sendable>(
        _ activationID: String,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        try await self.store.update(activationID, as: self.seat, recording: nil, change)
    }

    func remove(_ activationID: String) async throws { try await self.store.remove(activationID) }

    func withSigningTurn<Result: Sendable>(
        of activationID: String,
        _ body: @Sendable (SigningTurn) async throws -> Result
    ) async throws -> Result {
        try await self.store.withSigningTurn(of: activationID, body)
    }

    @discardableResult
    func update<Result: Sendable>(
        _ activationID: String,
        recording intent: DecisionIntent,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        try await self.store.update(activationID, as: self.seat, recording: intent, change)
    }

    func record(_ outcome: DecisionOutcome, ofMove moves: UInt64, of activationID: String) async throws {
        try await self.store.record(outcome, ofMove: moves, of: activationID)
    }

    func openDecisions(of activationID: String) async throws -> [OpenDecision] {
        try await self.store.openDecisions(of: activationID)
    }

    func receipts(of activationID: String?, after number: UInt64, limit: Int) async throws -> [DecisionReceipt] {
        try await self.store.receipts(of: activationID, after: number, limit: limit)
    }

    func receiptEntries(after number: UInt64, limit: Int) async throws -> [ReceiptEntry] {
        try await self.store.receiptEntries(after: number, limit: limit)
    }

    func decisionPause() async throws -> DecisionPause? { try await self.store.decisionPause() }

    func setDecisionPause(_ pause: DecisionPause?) async throws { try await self.store.setDecisionPause(pause) }

    @discardableResult
    func eraseReceipts(_ selection: ReceiptSelection) async throws -> Int {
        try await self.store.eraseReceipts(selection)
    }
}
