package import PowerAuthCrypto

/// The status in version 3: 32 bytes that only the activation's holder can read. `DE C0 DE D1` (`D1` to `DF` by format version)
/// in front, random flags and reserved bytes, a hash of 16 bytes. AES-128-CBC without padding under `KEY_TRANSPORT`; the vector
/// is `KDF_INTERNAL(KDF(KEY_TRANSPORT, 3000), challenge ‖ nonce)`.
extension ActivationStatusBlob {
    /// The length of a version 3 blob.
    package static let byteCount = 32
    /// The length of a challenge and of a nonce.
    package static let challengeByteCount = 16

    /// Parses a decrypted blob.
    ///
    /// - Throws: `unsupportedVersion` if the server has the activation in another version.
    package init(bytes: [UInt8]) throws(ActivationStatusError) {
        guard bytes.count == Self.byteCount else { throw .invalidLength }
        guard bytes.starts(with: Self.format.dropLast()), Self.formats.contains(bytes[3]) else { throw .notABlob }
        try self.init(fields: bytes)
        guard self.currentVersion == Self.version3 else { throw .unsupportedVersion(self.currentVersion) }
        try self.checkLookAhead()
    }

    /// Decrypts and parses a blob.
    ///
    /// - Parameters:
    ///   - challenge: The client's 16 bytes.
    ///   - nonce: The server's 16 bytes.
    package init(
        decrypting encrypted: [UInt8],
        transportKey: SecretBytes,
        challenge: [UInt8],
        nonce: [UInt8]
    ) throws(ActivationStatusError) {
        guard encrypted.count == Self.byteCount, challenge.count == Self.challengeByteCount,
            nonce.count == Self.challengeByteCount, transportKey.count == 16
        else { throw .invalidLength }
        let bytes: [UInt8]
        do throws(CryptoError) {
            let vector = try Self.initializationVector(transportKey: transportKey, challenge: challenge, nonce: nonce)
            bytes = try AES128CBC.decrypt(encrypted, key: transportKey, iv: vector, padding: .none)
        } catch {
            throw .crypto(error)
        }
        try self.init(bytes: bytes)
    }

    /// The 32 unencrypted bytes.
    package var bytes: [UInt8] { self.bytes(format: Self.format) }

    /// Encrypts the blob; without a challenge with a zero vector.
    package func encrypted(
        transportKey: SecretBytes,
        challenge: [UInt8]?,
        nonce: [UInt8]?
    ) throws(CryptoError) -> [UInt8] {
        var vector = [UInt8](repeating: 0, count: Self.challengeByteCount)
        if let challenge, let nonce {
            vector = try Self.initializationVector(transportKey: transportKey, challenge: challenge, nonce: nonce)
        }
        return try AES128CBC.encrypt(self.bytes, key: transportKey, iv: vector, padding: .none)
    }

    /// Returns `KDF_INTERNAL(KDF(KEY_TRANSPORT, 3000), challenge ‖ nonce)`.
    package static func initializationVector(
        transportKey: SecretBytes,
        challenge: [UInt8],
        nonce: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        let key = try KeyDerivation.derive(transportKey, index: 3000)
        return KeyDerivation.deriveInternal(key, index: challenge + nonce).disclosed
    }

    private static let format: [UInt8] = [0xDE, 0xC0, 0xDE, 0xD1]
    /// The format versions, named by the last byte. Later ones keep the fields of the first.
    private static let formats: ClosedRange<UInt8> = 0xD1...0xDF
}
