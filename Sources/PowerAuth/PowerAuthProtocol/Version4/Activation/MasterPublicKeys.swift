package import PowerAuthCrypto

extension Version4 {
    /// The master keys of an application. Its server signs with them until an activation has its own keys. ML-DSA keys are parsed
    /// only when used, so that a process without ML-DSA can read the configuration.
    package struct MasterPublicKeys: Sendable, Equatable {
        package let ecdsa: P384PublicKey
        /// `SubjectPublicKeyInfo` by parameter set.
        package let mldsa: [MLDSA: [UInt8]]

        /// - Returns: `nil` if an ML-DSA key does not have the wrapping of its parameter set.
        package init?(ecdsa: P384PublicKey, mldsa: [MLDSA: [UInt8]] = [:]) {
            guard mldsa.allSatisfy({ $0.algorithm.rawPublicKey(inPublicKeyInfo: $1) != nil }) else { return nil }
            self.ecdsa = ecdsa
            self.mldsa = mldsa
        }

        /// The suites with a complete set of keys.
        package var suites: [AlgorithmSuite] {
            AlgorithmSuite.allCases.filter { $0.signatureScheme.map { self.mldsa[$0] != nil } ?? true }
        }

        /// Returns the keys of a suite.
        ///
        /// - Throws: `malformed` for a missing key, `invalidKey`, `unavailable`.
        package func keys(of suite: AlgorithmSuite) throws(SharedSecretError) -> SigningPublicKeys {
            let mldsa = suite.signatureScheme.flatMap { self.mldsa[$0] }
            return try SigningPublicKeys(suite: suite, ecdsa: self.ecdsa.uncompressed, mldsa: mldsa)
        }
    }
}
