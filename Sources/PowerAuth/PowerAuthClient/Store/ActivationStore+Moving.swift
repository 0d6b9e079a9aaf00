extension ActivationStore {
    /// Moves an activation here from another store and removes it there, because two stores would use counter values twice.
    ///
    /// Waits for the signing turn there, so that no signature is in flight. An interrupted move may be repeated. Receipts stay in
    /// the other store; export them before.
    ///
    /// - Throws: `activationNotStored` if the other store does not have it; `activationAlreadyStored` if this one has a different
    ///   state of it; `stateRolledBack` if the other store was restored and the counter was not compared with the server's since.
    public func move(_ activationID: String, from source: ActivationStore) async throws {
        try await source.withSigningTurn(of: activationID) { _ in
            guard let record = try await source.record(of: activationID) else {
                throw MobileTokenError(.activationNotStored, "The other store holds no such activation")
            }
            // The other store knows that it was restored; this one would consider the counter unused.
            guard !record.ledger.wasPutBack, !record.ledger.isRolledBack else {
                throw MobileTokenError(
                    .stateRolledBack,
                    "The store was restored from a backup: ask for the activation's status before it is moved"
                )
            }
            try await self.checkReaders(of: record.version)
            do {
                try await self.insert(record)
            } catch let error as MobileTokenError where error.code == .activationAlreadyStored {
                // A leftover of an earlier attempt that ended before the removal. Had it signed since, it would differ.
                guard try await self.record(of: activationID) == record else { throw error }
            }
            try await source.remove(activationID)
        }
    }
}
