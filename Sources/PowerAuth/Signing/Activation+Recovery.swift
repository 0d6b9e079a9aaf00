extension Activation {
    /// Brings the counter in step with the server's when the store was put back to a state from long ago.
    ///
    /// A store that is twenty signatures or more behind throws ``MobileTokenError/Code/stateRolledBack``, and signs nothing: a
    /// program cannot know whether another copy of the store goes on signing. Call this when you do know. The server's counter is
    /// then looked for among the next values of this one; ten values more are passed over, for signatures that were made offline.
    ///
    /// ```swift
    /// let count = try await activation.recoverCounter()
    /// print("passed over \(count) values")
    /// ```
    ///
    /// - Important: No other copy of the store may sign any more. Two copies that sign use values twice, and block the activation.
    /// - Parameter limit: The number of values to search: a million by default, which takes a second or two.
    /// - Returns: The number of values that were passed over; 0 when signatures were accepted without that.
    /// - Throws: ``MobileTokenError/Code/stateRolledBack`` or ``MobileTokenError/Code/deadlock`` when the server's counter is none
    ///   of them, and nothing has changed then; any error of the status.
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
            if let count { return count }
            guard !comparison.canSign else { return 0 }
            throw comparison.result == .rolledBack
                ? MobileTokenError.stateRolledBack
                : MobileTokenError(.deadlock, "The server's counter is none of the next \(limit) values")
        }
    }
}
