import PowerAuthCrypto

extension CounterLedger {
    /// Moves the counter of a restored state to the server's, however far, and skips values that may have been used offline.
    /// Finding the server's counter ahead proves that this state signed until there. If it is not found, nothing changes.
    ///
    /// - Parameter limit: The number of counter values to search; at least one.
    /// - Returns: The number of skipped values; `nil` if the server's counter was not found.
    mutating func recover(to server: ReportedCounter, within limit: Int) throws(CryptoError) -> UInt64? {
        guard let steps = try self.steps(to: server, within: limit) else { return nil }
        guard steps > 0 else { return 0 }
        let before = self.history.moves
        for _ in 0..<steps { self.counter = self.counter.next() }
        self.confirm()
        // As for any restored state, the comparison skips values that the server may not know.
        self.notePutBack()
        _ = try self.compare(with: server)
        return self.history.moves - before
    }

    private func steps(to server: ReportedCounter, within limit: Int) throws(CryptoError) -> Int? {
        var counter = self.counter
        for steps in 0..<max(1, limit) {
            if steps > 0 { counter = counter.next() }
            // Hashes are expensive, and only one in 256 values has the right byte.
            guard counter.byte == server.byte else { continue }
            if constantTimeEquals(try counter.hash(key: server.key), server.hash) { return steps }
        }
        return nil
    }
}
