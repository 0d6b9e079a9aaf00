import Basics
package import PowerAuthCrypto

extension Version4 {
    /// The client's private keys of one key agreement, valid for one response.
    package struct SharedSecretAgreement: ~Copyable, Sendable {
        package let suite: AlgorithmSuite
        package let request: SharedSecretRequest
        private let ecKey: P384PrivateKey
        private let mlkemKey: MLKEMPrivateKey?

        /// Begins an agreement with the given keys.
        ///
        /// - Parameters:
        ///   - ecKey: A key for this agreement only.
        ///   - mlkemSeed: 64 random bytes; unused without ML-KEM.
        /// - Throws: `unavailable` if the process's libcrypto lacks ML-KEM.
        package init(
            suite: AlgorithmSuite,
            ecKey: P384PrivateKey,
            mlkemSeed: @autoclosure () -> SecretBytes
        ) throws(SharedSecretError) {
            let mlkemKey: MLKEMPrivateKey?
            do throws(CryptoError) {
                mlkemKey =
                    if let parameters = suite.keyEncapsulation {
                        try MLKEMPrivateKey(seed: mlkemSeed(), parameters: parameters)
                    } else { nil }
            } catch {
                throw SharedSecretError(error, suite: suite)
            }
            let keys = [ecKey.publicKey.uncompressed, mlkemKey?.publicKey.publicKeyInfo].compactMap(\.self)
            self.request = try SharedSecretRequest(suite: suite, encapsulationKeys: keys)
            self.suite = suite
            self.ecKey = ecKey
            self.mlkemKey = mlkemKey
        }

        /// Begins an agreement with random keys.
        ///
        /// - Throws: `unavailable` if the process's libcrypto lacks ML-KEM.
        package init(suite: AlgorithmSuite) throws(SharedSecretError) {
            try self.init(suite: suite, ecKey: .generate(), mlkemSeed: SecureRandom.secret(64))
        }

        /// Returns the 32-byte shared secret. A changed ML-KEM ciphertext yields another secret, not an error.
        ///
        /// - Throws: `malformed`, before any arithmetic, unless number and lengths of keys match the suite.
        package consuming func secret(from response: SharedSecretResponse) throws(SharedSecretError) -> SecretBytes {
            guard response.salt.count == SharedSecretResponse.saltByteCount else { throw .malformed(member: "salt") }
            guard response.encapsulatedKeys.map(\.count) == self.suite.encapsulatedKeyByteCounts else {
                throw .malformed(member: "encapsulatedKeys")
            }
            let suite = self.suite
            do throws(CryptoError) {
                var secrets = [try DHKEM384.decapsulate(response.encapsulatedKeys[0], with: self.ecKey)]
                if let mlkemKey = self.mlkemKey {
                    secrets.append(try mlkemKey.decapsulate(response.encapsulatedKeys[1]))
                }
                return try SharedSecret.combine(secrets, suite: suite, salt: response.salt)
            } catch {
                throw SharedSecretError(error, suite: suite)
            }
        }
    }
}

extension Version4.SharedSecretRequest {
    /// Agrees with the client on a secret, and returns it with the response.
    ///
    /// - Parameters:
    ///   - ephemeralKey: A key for this agreement only.
    ///   - salt: 32 random bytes.
    /// - Throws: `invalidKey` for an invalid client key, `unavailable` if the process's libcrypto lacks ML-KEM.
    package func agree(
        ephemeralKey: P384PrivateKey,
        salt: [UInt8]
    ) throws(Version4.SharedSecretError) -> (response: Version4.SharedSecretResponse, secret: SecretBytes) {
        guard salt.count == Version4.SharedSecretResponse.saltByteCount else { throw .malformed(member: "salt") }
        do throws(CryptoError) {
            let (ecKey, mlkemKey) = try self.publicKeys()
            let first = try DHKEM384.encapsulate(to: ecKey, ephemeralKey: ephemeralKey)
            let second = try mlkemKey?.encapsulate()
            let response = Version4.SharedSecretResponse(
                salt: salt,
                encapsulatedKeys: [first.encapsulated, second?.ciphertext].compactMap(\.self)
            )
            let secrets = [first.secret, second?.secret].compactMap(\.self)
            return (response, try Version4.SharedSecret.combine(secrets, suite: self.suite, salt: salt))
        } catch {
            throw Version4.SharedSecretError(error, suite: self.suite)
        }
    }

    /// Parses the client's keys. Number and lengths were checked before.
    private func publicKeys() throws(CryptoError) -> (P384PublicKey, MLKEMPublicKey?) {
        let ecKey = try P384PublicKey(x963: self.encapsulationKeys[0])
        guard let parameters = self.suite.keyEncapsulation else { return (ecKey, nil) }
        return (ecKey, try MLKEMPublicKey(publicKeyInfo: self.encapsulationKeys[1], parameters: parameters))
    }
}

extension Version4 {
    /// Combines the secrets of a suite's key agreements.
    package enum SharedSecret {
        /// Returns `KMAC(salt, 1 ‖ secrets ‖ suite and version, 32, "KDF")`, with length prefixes for secrets, suite and version.
        package static func combine(
            _ secrets: [SecretBytes],
            suite: AlgorithmSuite,
            salt: [UInt8]
        ) throws(CryptoError) -> SecretBytes {
            let purpose = [UInt8].withLengths(Array("shared-secret/\(suite.rawValue)".utf8), Array(Version4.name.utf8))
            return try KMAC256.derive(key: SecretBytes(copying: salt), customization: "KDF") { message in
                message.update(UInt32(1).bigEndianBytes)
                for secret in secrets {
                    message.update(UInt32(secret.count).bigEndianBytes)
                    message.update(secret)
                }
                message.update(purpose)
            }
        }
    }
}
