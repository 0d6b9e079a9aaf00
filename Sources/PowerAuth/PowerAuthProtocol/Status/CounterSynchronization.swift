package import PowerAuthCrypto

/// The action that synchronizes the counters, derived from a status. The server tries N counter values (its look-ahead), starting
/// at its own. So signatures succeed while the client is ahead by less than N, and fail while it is behind.
///
/// - If the server's hash is among the client's next N counters, the client moves there.
/// - Otherwise the client is ahead, by the shortest distance of the counter bytes. Up to N/2 nothing is needed. Up to N it should
///   make a possession signature, which moves the server. Beyond N no signature is accepted any more.
/// - A matching hash with another counter byte belongs to no counter: a deadlock.
package struct CounterSynchronization<Counter: ForwardCounter>: Sendable, Equatable {
    package enum Outcome: Sendable, Equatable {
        /// No action: the counters are close enough.
        case inSync
        /// The server was ahead by this many steps: store this counter.
        case movedForward(Int, Counter)
        /// Make a possession signature soon to let the server catch up.
        case signatureRecommended
        /// The counters cannot be synchronized: the activation is lost.
        case deadlock
    }

    package let outcome: Outcome
    /// The client's lead over the server; negative if it is behind. In a deadlock, only an estimate from the counter bytes.
    package let distance: Int
    package let window: Int
    /// Indicates a deadlock due to contradictory hash and byte. The byte then does not reveal which side is ahead.
    package let isContradictory: Bool

    /// Compares a client's counter with the server's.
    ///
    /// - Parameters:
    ///   - serverByte: The server's counter modulo 256.
    ///   - serverHash: The hash of the server's counter.
    ///   - key: The key of the hash.
    package init(
        client: Counter,
        serverByte: UInt8,
        serverHash: [UInt8],
        lookAhead: UInt8,
        key: SecretBytes
    ) throws(CryptoError) {
        self.window = Int(lookAhead)
        self.distance = Int(Int8(bitPattern: client.byte &- serverByte))
        if let (steps, counter) = try Self.search(serverHash, from: client, count: self.window, key: key) {
            self.isContradictory = counter.byte != serverByte
            self.outcome = self.isContradictory ? .deadlock : steps == 0 ? .inSync : .movedForward(steps, counter)
            return
        }
        self.isContradictory = false
        self.outcome =
            switch self.distance {
            case ...0: .deadlock  // behind by more than the window, or of another line of counters
            case ...(self.window / 2): .inSync
            case ...self.window: .signatureRecommended
            default: .deadlock
            }
    }

    /// Searches for the server's counter from the client's on, and returns it with its distance.
    private static func search(
        _ hash: [UInt8],
        from client: Counter,
        count: Int,
        key: SecretBytes
    ) throws(CryptoError) -> (steps: Int, counter: Counter)? {
        var counter = client
        for steps in 0..<max(1, count) {
            if steps > 0 { counter = counter.next() }
            if constantTimeEquals(try counter.hash(key: key), hash) { return (steps, counter) }
        }
        return nil
    }
}
