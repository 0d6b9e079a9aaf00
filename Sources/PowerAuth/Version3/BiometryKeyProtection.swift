import PowerAuthCrypto

/// Keeps the biometry key under a key from outside: a file, a KMS, an HSM.
///
/// Like the knowledge key it carries no integrity: a wrong key gives a signature that only the server can refuse.
enum BiometryKeyProtection {
    /// The length of the key from outside.
    static let unlockKeyByteCount = 16

    static func protect(_ key: SecretBytes, with unlockKey: SecretBytes) throws -> SecretBytes {
        try Self.validate(unlockKey)
        let encrypted = try AES128CBC.encrypt(key, key: unlockKey, iv: AES128CBC.zeroIV, padding: .none)
        return SecretBytes(copying: encrypted)
    }

    static func unlock(_ encrypted: SecretBytes, with unlockKey: SecretBytes) throws -> SecretBytes {
        try Self.validate(unlockKey)
        return try AES128CBC.decryptSecret(
            encrypted.withUnsafeBytes { Array($0) },
            key: unlockKey,
            iv: AES128CBC.zeroIV,
            padding: .none
        )
    }

    static func validate(_ unlockKey: SecretBytes) throws(MobileTokenError) {
        guard unlockKey.count == Self.unlockKeyByteCount else {
            throw MobileTokenError(.invalidAuthentication, "The biometry key must have 16 bytes")
        }
    }
}
