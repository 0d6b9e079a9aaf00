extension SQLiteActivationStore {
    /// Runs `body` when it is its turn to sign, which one task of one process at a time has; see
    /// ``ActivationStore/withSigningTurn(of:_:)``.
    public nonisolated func withSigningTurn<Result: Sendable>(
        of activationID: String,
        _ body: @Sendable (SigningTurn) async throws -> Result
    ) async throws -> Result {
        let lease = try await self.acquireLease(of: activationID)
        defer { lease.release() }
        return try await body(SigningTurn(of: activationID, in: self))
    }

    func acquireLease(of activationID: String) async throws -> ProcessLease {
        let open = try await self.opened()
        let slot = try self.mapErrors { try open.database.slot(of: activationID) }
        guard let slot else { throw MobileTokenError.notStored() }
        return try await ProcessLease.acquire(
            activationID: activationID,
            slot: slot,
            gate: self.gate,
            file: open.lease
        )
    }
}
