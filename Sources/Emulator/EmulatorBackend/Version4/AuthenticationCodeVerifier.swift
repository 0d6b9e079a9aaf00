package import PowerAuthCrypto
package import PowerAuthProtocol

extension Version4 {
    /// The server's side of an authentication code: tries the client's possible counters, each with the factor's current key and
    /// then with the pending one.
    package struct AuthenticationCodeVerifier: Sendable {
        /// The result of verifying a code.
        package enum Outcome: Sendable, Equatable {
            case accepted(Match)
            /// The code is invalid. It counts as a failure if its type does.
            case refused
            /// There is no biometric key. It does not count.
            case biometryIsOff
        }

        /// A counter under which a code is valid, and the values for the server to store.
        package struct Match: Sendable, Equatable {
            /// The client's lead over the server's counter, in steps.
            package let offset: Int
            package let nextCounter: HashCounter
            /// Indicates whether the code was made with the factor's pending key.
            package let usedPendingKey: Bool
            /// The keys, with the used one as the only one of its factor.
            package let keys: ServerFactorKeys
        }

        private let keys: ServerFactorKeys
        private let counter: HashCounter
        private let lookAhead: Int

        /// Creates a verifier for codes of one activation.
        package init(keys: ServerFactorKeys, counter: HashCounter, lookAhead: Int = LookAhead.standard) {
            precondition(LookAhead.range.contains(lookAhead))
            self.keys = keys
            self.counter = counter
            self.lookAhead = lookAhead
        }

        /// Verifies the online form of a code.
        package func verify(
            online code: [UInt8],
            of type: AuthenticationCodeType,
            for data: SignatureData,
            secret: SigningSecret
        ) throws(CryptoError) -> Outcome {
            try self.verify(
                type,
                { (keys, counter) throws(CryptoError) in
                    try AuthenticationCode(data, keys: keys, counter: counter, secret: secret)
                }
            ) { constantTimeEquals($0.onlineBytes, code) }
        }

        /// Verifies the online form of a code over data that already end with the secret.
        package func verify(
            online code: [UInt8],
            of type: AuthenticationCodeType,
            message: [UInt8]
        ) throws(CryptoError) -> Outcome {
            try self.verify(
                type,
                { (keys, counter) throws(CryptoError) in
                    try AuthenticationCode(message: message, keys: keys, counter: counter)
                }
            ) { constantTimeEquals($0.onlineBytes, code) }
        }

        /// Verifies the offline form of a code.
        package func verify(
            offline code: String,
            of type: AuthenticationCodeType,
            for data: SignatureData,
            componentLength: Int = 8
        ) throws(CryptoError) -> Outcome {
            let code = [UInt8](code.utf8)
            return try self.verify(
                type,
                { (keys, counter) throws(CryptoError) in
                    try AuthenticationCode(data, keys: keys, counter: counter, secret: .offline)
                }
            ) { constantTimeEquals([UInt8]($0.offline(componentLength: componentLength).utf8), code) }
        }

        private func verify(
            _ type: AuthenticationCodeType,
            _ makeCode: ([SecretBytes], HashCounter) throws(CryptoError) -> AuthenticationCode,
            _ isValid: (AuthenticationCode) -> Bool
        ) throws(CryptoError) -> Outcome {
            let candidates = self.candidates(for: type)
            guard !candidates.isEmpty else { return .biometryIsOff }
            var counter = self.counter
            for offset in 0..<self.lookAhead {
                let nextCounter = counter.next()
                for candidate in candidates where isValid(try makeCode(candidate.keys, counter)) {
                    return .accepted(
                        Match(
                            offset: offset,
                            nextCounter: nextCounter,
                            usedPendingKey: candidate.isPending,
                            keys: self.keys(after: type, usedPendingKey: candidate.isPending)
                        )
                    )
                }
                counter = nextCounter
            }
            return .refused
        }

        /// Returns the possible keys of a code, in the order of attempts; empty while the factor is off.
        private func candidates(for type: AuthenticationCodeType) -> [(keys: [SecretBytes], isPending: Bool)] {
            let factor: ReplaceableKey
            switch type {
            case .possession: return [([self.keys.possession], false)]
            case .possessionKnowledge: factor = self.keys.knowledge
            case .possessionBiometry: factor = self.keys.biometry
            }
            return [(factor.current, false), (factor.pending, true)].compactMap { key, isPending in
                key.map { ([self.keys.possession, $0], isPending) }
            }
        }

        private func keys(after type: AuthenticationCodeType, usedPendingKey: Bool) -> ServerFactorKeys {
            var keys = self.keys
            switch (type, usedPendingKey) {
            case (.possession, _): break
            case (.possessionKnowledge, true): keys.knowledge.settleOnPending()
            case (.possessionKnowledge, false): keys.knowledge.settleOnCurrent()
            case (.possessionBiometry, true): keys.biometry.settleOnPending()
            case (.possessionBiometry, false): keys.biometry.settleOnCurrent()
            }
            return keys
        }
    }
}
