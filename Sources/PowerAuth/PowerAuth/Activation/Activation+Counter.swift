public import PowerAuthClient

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
        try await self.findCounter(searching: limit)
    }

    /// Makes a possession signature to find out whether signatures reach the server again. An accepted one repairs the counter.
    ///
    /// After ten lost signatures, further ones throw ``MobileTokenError/Code/signaturesAreLost``. Call this once the connection
    /// is repaired.
    ///
    /// - Returns: The status afterwards; with zero ``ActivationStatus/lostSignatures`` the signature was accepted.
    /// - Throws: `deadlock` if no signature can be accepted any more; nothing was signed then.
    @discardableResult
    public func tryCounter() async throws -> ActivationStatus {
        try await self.trySignature()
    }
}
