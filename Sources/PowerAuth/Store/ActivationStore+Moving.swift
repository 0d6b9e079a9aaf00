extension ActivationStore {
    /// Moves an activation here from another store, which holds it no more afterwards: a counter that two stores move is a
    /// counter whose values are used twice.
    ///
    /// Waits for the turn to sign there, so that no signature is on its way. Interrupted, the move may be repeated. Receipts
    /// stay where they are; export them before.
    ///
    /// - Throws: `activationNotStored` when the other store does not hold it, and `activationAlreadyStored` when this one holds
    ///   another state of it than the one that would be moved. `stateRolledBack` while the other store was put back and the
    ///   counter was not compared with the server's since.
    public func move(_ activationID: String, from source: ActivationStore) async throws {
        try await source.withSigningTurn(of: activationID) { _ in
            guard let record = try await source.record(of: activationID) else {
                throw MobileTokenError(.activationNotStored, "The other store holds no such activation")
            }
            // The other store knows that it was put back; this one would take its counter for one that nobody has used.
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
                // Of an earlier attempt that ended before the removal. Had it signed here since, it would be another one.
                guard try await self.record(of: activationID) == record else { throw error }
            }
            try await source.remove(activationID)
        }
    }
}
