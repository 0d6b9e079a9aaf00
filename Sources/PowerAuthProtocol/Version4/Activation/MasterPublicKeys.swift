package import PowerAuthCrypto

extension Version4 {
    /// The master keys of an application, with which its server signs until an activation has keys of its own.
    ///
    /// Keys of ML-DSA are parsed only when used, so that a process without ML-DSA can read a configuration that has them.
    package struct MasterPublicKeys: Sendable, Equatable {
        package let ecdsa: P384PublicKey
        /// `SubjectPublicKeyInfo` by parameter set.
        package let mldsa: [MLDSA: [UInt8]]

        /// Creates a set of keys.
        ///
        /// - Returns: `nil` when a key of ML-DSA is not wrapped as one of its parameter set.
        package init?(ecdsa: P384PublicKey, mldsa: [MLDSA: [UInt8]] = [:]) {
            guard mldsa.allSatisfy({ $0.algorithm.rawPublicKey(inPublicKeyInfo: $1) != nil }) else { return nil }
            self.ecdsa = ecdsa
            self.mldsa = mldsa
        }

        /// The suites for which there are all keys.
        package var suites: [AlgorithmSuite] {
            AlgorithmSuite.allCases.filter { $0.signatureScheme.map { self.mldsa[$0] != nil } ?? true }
        }

        /// Returns the keys of a suite.
        ///
        /// - Throws: `malformed` when one is missing, `invalidKey`, `unavailable`.
        package func keys(of suite: AlgorithmSuite) throws(SharedSecretError) -> SigningPublicKeys {
            let mldsa = suite.signatureScheme.flatMap { self.mldsa[$0] }
            return try SigningPublicKeys(suite: suite, ecdsa: self.ecdsa.uncompressed, mldsa: mldsa)
        }
    }
}
