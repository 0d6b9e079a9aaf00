package import PowerAuthCrypto

/// The action that brings the client's and the server's counters back into agreement, decided from one status.
///
/// The server tries its own counter and those after it, as many as its look-ahead N in all. So a client ahead of it by less
/// than N still signs well, and one behind it never does.
///
/// - The server's counter hash is found among the client's counter and the N−1 after it: the client moves there.
/// - Else the client is ahead, by the shortest distance of the two counter bytes: up to N/2, nothing is needed; up to N, it
///   should make one possession signature, which moves the server; beyond that no signature will ever be accepted again.
/// - A hash that is found while the counter byte beside it says another number belongs to no counter that ever existed: a
///   deadlock.
package struct CounterSynchronization<Counter: ForwardCounter>: Sendable, Equatable {
    /// An action that brings the counters back into agreement.
    package enum Outcome: Sendable, Equatable {
        /// No action: the counters are close enough.
        case inSync
        /// The server was ahead by so many steps: store this counter.
        case movedForward(Int, Counter)
        /// Make a possession signature soon, so that the server catches up.
        case signatureRecommended
        /// The counters can never meet again: the activation is lost.
        case deadlock
    }

    /// The action that brings the counters back into agreement.
    package let outcome: Outcome
    /// The lead of the client's counter over the server's; negative when it is behind. In a deadlock, only what the
    /// counter bytes suggest.
    package let distance: Int
    /// The server's look-ahead.
    package let window: Int
    /// Indicates whether the deadlock is one because hash and byte contradict each other, so that the byte says nothing about which
    /// side is ahead.
    package let isContradictory: Bool

    /// Compares a client's counter with the one that the server reported.
    ///
    /// - Parameters:
    ///   - serverByte: The server's counter modulo 256.
    ///   - serverHash: The hash of the server's counter.
    ///   - key: The key of that hash.
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

    /// Returns the server's counter and how many steps away it is, if it is among the client's and those after it.
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
