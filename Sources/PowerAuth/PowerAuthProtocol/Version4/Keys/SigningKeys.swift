package import PowerAuthCrypto

extension Version4 {
    /// The public keys of a device or server, one per signature algorithm of the suite.
    package struct SigningPublicKeys: Sendable, Equatable {
        package let suite: AlgorithmSuite
        package let ecdsa: P384PublicKey
        /// `nil` in the suite without ML-DSA.
        package let mldsa: MLDSAPublicKey?

        fileprivate init(suite: AlgorithmSuite, ecdsa: P384PublicKey, mldsa: MLDSAPublicKey?) {
            self.suite = suite
            self.ecdsa = ecdsa
            self.mldsa = mldsa
        }

        /// Parses keys.
        ///
        /// - Parameter mldsa: `SubjectPublicKeyInfo`; only in a hybrid suite.
        /// - Throws: `malformed` for a missing or extra key, `invalidKey`, `unavailable`.
        package init(suite: AlgorithmSuite, ecdsa: [UInt8], mldsa: [UInt8]?) throws(SharedSecretError) {
            guard (suite.signatureScheme == nil) == (mldsa == nil) else { throw .malformed(member: "mldsa") }
            do throws(CryptoError) {
                self.ecdsa = try P384PublicKey(x963: ecdsa)
                self.mldsa =
                    if let parameters = suite.signatureScheme, let mldsa {
                        try MLDSAPublicKey(publicKeyInfo: mldsa, parameters: parameters)
                    } else { nil }
            } catch {
                throw SharedSecretError(error, suite: suite)
            }
            self.suite = suite
        }

        /// Returns whether there is exactly one valid signature of `message` per key.
        package func isValid(_ signature: Signature, for message: [UInt8]) -> Bool {
            guard self.ecdsa.isValid(derSignature: signature.ecdsa, for: message) else { return false }
            switch (self.mldsa, signature.mldsa) {
            case (nil, nil): return true
            case (let key?, let signature?): return key.isValid(signature, for: message)
            default: return false
            }
        }
    }

    /// The private keys of a device or server, one per signature algorithm of the suite.
    package struct SigningPrivateKeys: Sendable {
        package let ecdsa: P384PrivateKey
        /// `nil` in the suite without ML-DSA.
        package let mldsa: MLDSAPrivateKey?
        package let publicKeys: SigningPublicKeys

        package var suite: AlgorithmSuite { self.publicKeys.suite }

        /// - Parameter mldsaSeed: 32 random bytes; unused without ML-DSA.
        /// - Throws: `unavailable` if the process's libcrypto lacks ML-DSA.
        package init(
            suite: AlgorithmSuite,
            ecdsa: P384PrivateKey,
            mldsaSeed: @autoclosure () -> SecretBytes
        ) throws(SharedSecretError) {
            do throws(CryptoError) {
                self.mldsa =
                    if let parameters = suite.signatureScheme {
                        try MLDSAPrivateKey(seed: mldsaSeed(), parameters: parameters)
                    } else { nil }
            } catch {
                throw SharedSecretError(error, suite: suite)
            }
            self.ecdsa = ecdsa
            self.publicKeys = SigningPublicKeys(suite: suite, ecdsa: ecdsa.publicKey, mldsa: self.mldsa?.publicKey)
        }

        /// Generates random keys.
        ///
        /// - Throws: `unavailable` if the process's libcrypto lacks ML-DSA.
        package init(suite: AlgorithmSuite) throws(SharedSecretError) {
            try self.init(suite: suite, ecdsa: .generate(), mldsaSeed: SecureRandom.secret(32))
        }

        /// Signs `message` with every algorithm of the suite.
        package func signature(for message: [UInt8]) throws(CryptoError) -> Signature {
            Signature(
                ecdsa: try self.ecdsa.derSignature(for: message),
                mldsa: try self.mldsa?.signature(for: message)
            )
        }
    }

    /// The signatures of a message, one per signature algorithm of the suite.
    package struct Signature: Sendable, Equatable {
        /// In DER.
        package let ecdsa: [UInt8]
        /// `nil` in the suite without ML-DSA.
        package let mldsa: [UInt8]?

        package init(ecdsa: [UInt8], mldsa: [UInt8]?) {
            self.ecdsa = ecdsa
            self.mldsa = mldsa
        }
    }

    /// Unparsed public keys in a message.
    package struct SigningKeysMessage: Sendable, Equatable {
        /// A point of P-384.
        package let ecdsa: [UInt8]
        /// `SubjectPublicKeyInfo`.
        package let mldsa: [UInt8]?

        package init(ecdsa: [UInt8], mldsa: [UInt8]?) {
            self.ecdsa = ecdsa
            self.mldsa = mldsa
        }

        package init(_ keys: SigningPublicKeys) {
            self.ecdsa = keys.ecdsa.uncompressed
            self.mldsa = keys.mldsa?.publicKeyInfo
        }

        /// Parses the keys.
        ///
        /// - Throws: The errors of ``SigningPublicKeys``.
        package func keys(of suite: AlgorithmSuite) throws(SharedSecretError) -> SigningPublicKeys {
            try SigningPublicKeys(suite: suite, ecdsa: self.ecdsa, mldsa: self.mldsa)
        }
    }
}

extension Version4.SigningKeysMessage: Codable {
    private enum CodingKeys: String, CodingKey {
        case ecdsa, mldsa
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.ecdsa = try container.decodeBase64(forKey: .ecdsa)
        self.mldsa = try container.decodeBase64IfPresent(forKey: .mldsa)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeBase64(self.ecdsa, forKey: .ecdsa)
        if let mldsa = self.mldsa { try container.encodeBase64(mldsa, forKey: .mldsa) }
    }
}
