package import PowerAuthCrypto

extension Version4 {
    /// The device's stored private keys, sealed with a vault key that only the server knows. The form is private to this package:
    /// scalar and seed, with length prefixes.
    package struct SealedDeviceKeys: Sendable, Equatable {
        /// A sealed message; see ``AuthenticatedEncryption``.
        package let bytes: [UInt8]

        package init(bytes: [UInt8]) { self.bytes = bytes }

        /// Seals `keys`.
        ///
        /// - Parameters:
        ///   - vaultKey: ``ActivationKeys/Vault/devicePrivateKeys``.
        ///   - nonce: 12 random bytes.
        package init(
            sealing keys: SigningPrivateKeys,
            activationID: String,
            vaultKey: SecretBytes,
            nonce: [UInt8]
        ) throws(CryptoError) {
            var content = [UInt8]()
            defer { content.wipe() }
            content.reserveCapacity(128)  // growing would leave a copy behind
            keys.ecdsa.scalar.withUnsafeBytes { content.appendWithLength($0) }
            keys.mldsa?.seed.withUnsafeBytes { content.appendWithLength($0) }
            self.bytes = try AuthenticatedEncryption(key: vaultKey, context: Self.keyContext).seal(
                content,
                nonce: nonce,
                associatedData: Self.associatedData(suite: keys.suite, activationID: activationID)
            )
        }

        /// Decrypts the keys.
        ///
        /// - Throws: `authenticationFailed` for another vault key, suite or activation; `algorithmUnavailable`.
        package func open(
            suite: AlgorithmSuite,
            activationID: String,
            vaultKey: SecretBytes
        ) throws(CryptoError) -> SigningPrivateKeys {
            var content = try AuthenticatedEncryption(key: vaultKey, context: Self.keyContext).open(
                self.bytes,
                associatedData: Self.associatedData(suite: suite, activationID: activationID)
            )
            defer { content.wipe() }
            // The suite determines the length: 4 and 48 bytes, and in a hybrid one 4 and 32 more.
            guard content.count == 52 + (suite.signatureScheme == nil ? 0 : 36) else {
                throw CryptoError(.invalidLength)
            }
            let scalar = SecretBytes(copying: content[4..<52])
            let seed = SecretBytes(copying: content.dropFirst(56))
            let ecdsa = try P384PrivateKey(scalar: scalar)
            do throws(SharedSecretError) {
                return try SigningPrivateKeys(suite: suite, ecdsa: ecdsa, mldsaSeed: seed)
            } catch .unavailable {
                throw CryptoError(.algorithmUnavailable(suite.rawValue))
            } catch {
                throw CryptoError(.invalidPrivateKey)
            }
        }

        private static let keyContext = Array("device-private-keys".utf8)

        private static func associatedData(suite: AlgorithmSuite, activationID: String) -> [UInt8] {
            .withLengths(Array(suite.rawValue.utf8), Array(activationID.utf8))
        }
    }
}
