import MobileTokenObserving

extension Activation {
    /// Searches the counter's next values for the server's, and returns how many were skipped.
    @discardableResult
    package func findCounter(searching limit: Int = 1_000_000) async throws -> UInt64 {
        try self.checkNotRemoved()
        return try await self.withSigningTurn { turn, _ in
            let comparison = try await self.fetchStatus().status.counter
            let (dialect, report) = (self.dialect, try await self.report(in: self.dialect))
            let count = try await self.updateRecord(in: turn) { record in
                guard record.version == dialect.version else { return UInt64?.none }
                return try MobileTokenError.mapCryptoErrors {
                    try record.ledger.recover(to: report.counter, within: limit)
                }
            }
            if let count {
                if count > 0 {
                    try await MobileTokenError.mapStoreErrors {
                        try await self.server.store.noteRestore(of: self.activationID)
                    }
                }
                return count
            }
            guard !comparison.canSign else { return 0 }
            throw comparison.result == .rolledBack
                ? MobileTokenError.stateRolledBack
                : MobileTokenError(.deadlock, "The server's counter is none of the next \(limit) values")
        }
    }
}
