import PowerAuthCrypto

/// Protects the biometry key with an external key, from a file, KMS or HSM. Like the knowledge key it has no integrity
/// protection: with a wrong key, only the server can refuse the signature.
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
