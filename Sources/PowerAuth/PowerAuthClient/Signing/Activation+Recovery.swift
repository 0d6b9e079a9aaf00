extension Activation {
    /// Resynchronizes the counter after the store was restored from an old backup.
    ///
    /// If the store is twenty or more signatures behind, signatures throw ``MobileTokenError/Code/stateRolledBack``, because
    /// another copy of the store may still be signing. If none is, call this method. It searches the counter's next values for
    /// the server's, and skips ten more in case of offline signatures. If it skips any, the limits of agents are closed until
    /// their windows have passed, because approvals may be missing.
    ///
    /// ```swift
    /// let count = try await activation.recoverCounter()
    /// print("passed over \(count) values")
    /// ```
    ///
    /// - Important: No other copy of the store may still sign. Two copies reuse values, and that blocks the activation.
    /// - Parameter limit: The number of values to search. Default: a million, which takes a second or two.
    /// - Returns: The number of skipped values; 0 if no repair was needed.
    /// - Throws: ``MobileTokenError/Code/stateRolledBack`` or ``MobileTokenError/Code/deadlock`` if the server's counter was not
    ///   found, and nothing has changed; any error of the status.
    @discardableResult
    public func recoverCounter(searching limit: Int = 1_000_000) async throws -> UInt64 {
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
