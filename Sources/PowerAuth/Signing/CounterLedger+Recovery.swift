import PowerAuthCrypto

extension CounterLedger {
    /// Moves the counter of a state that was put back to where the server's is, however far that is, and passes over values
    /// that may have been used offline.
    ///
    /// Finding the server's counter further on proves that this state signed until there. Nothing changes when it is not found.
    ///
    /// - Parameter limit: The number of counter values to look at; at least one.
    /// - Returns: The number of values that were passed over; `nil` when no value looked at is the server's counter.
    mutating func recover(to server: ReportedCounter, within limit: Int) throws(CryptoError) -> UInt64? {
        guard let steps = try self.steps(to: server, within: limit) else { return nil }
        guard steps > 0 else { return 0 }
        let before = self.history.moves
        for _ in 0..<steps { self.counter = self.counter.next() }
        self.confirm()
        // As any state that was put back: compared, it passes over values of which the server cannot know.
        self.notePutBack()
        _ = try self.compare(with: server)
        return self.history.moves - before
    }

    private func steps(to server: ReportedCounter, within limit: Int) throws(CryptoError) -> Int? {
        var counter = self.counter
        for steps in 0..<max(1, limit) {
            if steps > 0 { counter = counter.next() }
            // Hashes are the dear part: of 256 values, one has the byte.
            guard counter.byte == server.byte else { continue }
            if constantTimeEquals(try counter.hash(key: server.key), server.hash) { return steps }
        }
        return nil
    }
}
