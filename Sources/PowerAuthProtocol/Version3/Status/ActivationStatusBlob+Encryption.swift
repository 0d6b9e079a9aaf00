package import PowerAuthCrypto

/// The status in version 3: 32 bytes that only the activation's holder can read.
///
/// `DE C0 DE D1` (`D1` to `DF` for the version of the format) in front, the flags and reserved bytes at random, a hash of 16
/// bytes. AES-128-CBC without padding under `KEY_TRANSPORT`; the vector is
/// `KDF_INTERNAL(KDF(KEY_TRANSPORT, 3000), challenge ‖ nonce)`.
extension ActivationStatusBlob {
    /// The length of a blob in version 3: 32 bytes.
    package static let byteCount = 32
    /// The length of a challenge, and of a nonce: 16 bytes.
    package static let challengeByteCount = 16

    /// Reads a decrypted blob.
    ///
    /// - Throws: `unsupportedVersion` for an activation that is of another version at the server.
    package init(bytes: [UInt8]) throws(ActivationStatusError) {
        guard bytes.count == Self.byteCount else { throw .invalidLength }
        guard bytes.starts(with: Self.format.dropLast()), Self.formats.contains(bytes[3]) else { throw .notABlob }
        try self.init(fields: bytes)
        guard self.currentVersion == Self.version3 else { throw .unsupportedVersion(self.currentVersion) }
        try self.checkLookAhead()
    }

    /// Decrypts and reads a blob.
    ///
    /// - Parameters:
    ///   - challenge: The 16 bytes that the client sent.
    ///   - nonce: The 16 bytes that the server responded with.
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

    /// The 32 bytes, not yet encrypted.
    package var bytes: [UInt8] { self.bytes(format: Self.format) }

    /// Returns the blob as the server sends it.
    package func encrypted(
        transportKey: SecretBytes,
        challenge: [UInt8],
        nonce: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        let vector = try Self.initializationVector(transportKey: transportKey, challenge: challenge, nonce: nonce)
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
    /// The versions of the format, which its last byte names. Later ones keep the fields of the first.
    private static let formats: ClosedRange<UInt8> = 0xD1...0xDF
}
