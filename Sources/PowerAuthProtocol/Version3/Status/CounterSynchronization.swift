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
package struct CounterSynchronization: Sendable, Equatable {
    /// An action that brings the counters back into agreement.
    package enum Outcome: Sendable, Equatable {
        /// No action: the counters are close enough.
        case inSync
        /// The server was ahead by so many steps: store this counter.
        case movedForward(Int, HashCounter)
        /// Make a possession signature soon, so that the server catches up.
        case signatureRecommended
        /// The counters can never meet again: the activation is lost.
        case deadlock
    }

    /// The action that brings the counters back into agreement.
    package let outcome: Outcome
    /// How far the client's counter is ahead of the server's; negative when it is behind. In a deadlock, only what the
    /// counter bytes suggest.
    package let distance: Int
    /// The server's look-ahead.
    package let window: Int
    /// Whether the deadlock is one because hash and byte contradict each other, so that the byte says nothing about which
    /// side is ahead.
    package let isContradictory: Bool

    /// Compares a client's counter with the one that the server reported.
    package init(
        client: HashCounter,
        status: ActivationStatusBlob,
        transportKey: SecretBytes
    ) throws(CryptoError) {
        self.window = Int(status.lookAhead)
        let byteDistance = Int(Int8(bitPattern: client.byte &- status.counterByte))
        guard status.currentVersion == 3 else {  // activations of older versions count without hashes
            self.outcome = .inSync
            self.distance = 0
            self.isContradictory = false
            return
        }
        if let (steps, counter) = try Self.searchServer(from: client, status: status, transportKey: transportKey) {
            self.isContradictory = counter.byte != status.counterByte
            self.distance = self.isContradictory ? byteDistance : -steps
            self.outcome = self.isContradictory ? .deadlock : steps == 0 ? .inSync : .movedForward(steps, counter)
            return
        }
        self.isContradictory = false
        self.distance = byteDistance
        self.outcome =
            switch byteDistance {
            case ...0: .deadlock  // behind by more than the window, or of another line of counters
            case ...(self.window / 2): .inSync
            case ...self.window: .signatureRecommended
            default: .deadlock
            }
    }

    /// The server's counter, when it is among the client's and those after it, and how many steps away it is.
    private static func searchServer(
        from client: HashCounter,
        status: ActivationStatusBlob,
        transportKey: SecretBytes
    ) throws(CryptoError) -> (steps: Int, counter: HashCounter)? {
        let key = try HashCounter.hashKey(transportKey: transportKey)
        var counter = client
        for steps in 0..<max(1, Int(status.lookAhead)) {
            if steps > 0 { counter = counter.next() }
            if constantTimeEquals(counter.hash(key: key), status.counterHash) { return (steps, counter) }
        }
        return nil
    }
}
