import PowerAuthCrypto
import PowerAuthProtocol

extension Version4 {
    /// The keys with which the server signs for an application before an activation has its own keys.
    struct MasterKeys: Sendable {
        let ecdsa: P384PrivateKey
        private let mldsaSeeds: [MLDSA: SecretBytes]

        /// Derives the keys from an application's version 3 master key, so that states from before version 4 have them too, the
        /// same after each reading.
        init(derivedFrom root: SecretBytes) throws(CryptoError) {
            self.ecdsa = try Self.ecdsa(derivedFrom: root)
            var seeds: [MLDSA: SecretBytes] = [:]
            for parameters in MLDSA.allCases {
                seeds[parameters] = try KeyDerivation.derive(
                    root,
                    label: "emulator/master/\(parameters.algorithm.rawValue)"
                )
            }
            self.mldsaSeeds = seeds
        }

        private static func ecdsa(derivedFrom root: SecretBytes) throws(CryptoError) -> P384PrivateKey {
            // All but one number in 2¹⁹⁰ is a key.
            for attempt in 0..<UInt8(16) {
                let scalar = try KeyDerivation.derive(
                    root,
                    label: "emulator/master/ecdsa",
                    diversifier: [attempt],
                    count: P384.curve.coordinateByteCount
                )
                if let key = try? P384PrivateKey(scalar: scalar) { return key }
            }
            throw CryptoError(.invalidPrivateKey)
        }

        /// Returns the keys of a suite.
        ///
        /// - Throws: `unavailable` if this process's libcrypto lacks ML-DSA.
        func keys(of suite: AlgorithmSuite) throws(SharedSecretError) -> SigningPrivateKeys {
            let seed = suite.signatureScheme.flatMap { self.mldsaSeeds[$0] }
            return try SigningPrivateKeys(suite: suite, ecdsa: self.ecdsa, mldsaSeed: seed ?? SecretBytes(copying: []))
        }

        /// The public keys of all suites in this process.
        var publicKeys: MasterPublicKeys? {
            var mldsa: [MLDSA: [UInt8]] = [:]
            for suite in AlgorithmSuite.available {
                guard let key = try? self.keys(of: suite).mldsa?.publicKey else { continue }
                mldsa[key.parameters] = key.publicKeyInfo
            }
            return MasterPublicKeys(ecdsa: self.ecdsa.publicKey, mldsa: mldsa)
        }
    }
}
