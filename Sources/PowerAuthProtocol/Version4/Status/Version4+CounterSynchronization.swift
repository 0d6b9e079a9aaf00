package import PowerAuthCrypto

extension Version4 {
    /// What is to be done so that the client's counter and the server's agree again, decided from one status of the activation.
    ///
    /// The hash tells where the server's counter is among the client's and the N−1 after it; the counter bytes tell how far
    /// apart the two are, modulo 256. Both must say the same. Only when the hash is not found may the client be ahead: by up to
    /// N/2, nothing is needed; by up to N, it should make one code, which moves the server.
    package struct CounterSynchronization: Sendable, Equatable {
        /// What is to be done.
        package enum Outcome: Sendable, Equatable {
            /// Nothing.
            case inSync
            /// The server was ahead by so many steps: store this counter.
            case movedForward(Int, HashCounter)
            /// Make a possession code soon, so that the server catches up.
            case codeRecommended
            /// The counters can never meet again: the activation is lost.
            case deadlock
        }

        /// What is to be done.
        package let outcome: Outcome
        /// How far the client's counter is ahead of the server's by their bytes; negative when it is behind.
        package let distance: Int

        /// Compares a client's counter with what the server told.
        ///
        /// - Parameter key: ``ActivationKeys/Utility/counterHash``.
        package init(client: HashCounter, status: ActivationStatusBlob, key: SecretBytes) throws(CryptoError) {
            self.distance = Int(Int8(bitPattern: client.byte &- status.counterByte))
            let window = Int(status.lookAhead)
            var counter = client
            for steps in 0..<window {
                if constantTimeEquals(try counter.hash(key: key), status.counterHash) {
                    self.outcome =
                        if self.distance != -steps { .deadlock } else if steps == 0 { .inSync } else {
                            .movedForward(steps, counter)
                        }
                    return
                }
                counter = counter.next()
            }
            self.outcome =
                switch self.distance {
                case ...0: .deadlock  // behind by more than the window, or of another line of counters
                case ...(window / 2): .inSync
                case ...window: .codeRecommended
                default: .deadlock
                }
        }
    }
}
