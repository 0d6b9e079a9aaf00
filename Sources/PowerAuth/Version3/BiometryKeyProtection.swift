import PowerAuthCrypto

/// Keeps the biometry key under a key from outside: a file, a KMS, an HSM.
///
/// Like the knowledge key it carries no integrity: a wrong key gives a signature that only the server can refuse.
enum BiometryKeyProtection {
    static func protect(_ key: SecretBytes, with unlockKey: SecretBytes) throws -> SecretBytes {
        try BiometryUnlockKey.validate(unlockKey)
        let encrypted = try AES128CBC.encrypt(key, key: unlockKey, iv: AES128CBC.zeroIV, padding: .none)
        return SecretBytes(copying: encrypted)
    }

    static func unlock(_ encrypted: SecretBytes, with unlockKey: SecretBytes) throws -> SecretBytes {
        try BiometryUnlockKey.validate(unlockKey)
        return try AES128CBC.decryptSecret(
            encrypted.withUnsafeBytes { Array($0) },
            key: unlockKey,
            iv: AES128CBC.zeroIV,
            padding: .none
        )
    }
}
