package import PowerAuthCrypto

/// Encryption with `KEY_ENCRYPTION_VAULT`, which the server provides after a two-factor signature: AES-128-CBC with PKCS#7
/// padding and a zero vector.
package enum Vault {
    package struct Unreadable: Error, Equatable, Sendable {
        package init() {}
    }

    /// Encrypts the vault key with `KEY_TRANSPORT`, as the server sends it.
    package static func encrypt(vaultKey: SecretBytes, transportKey: SecretBytes) throws(CryptoError) -> [UInt8] {
        try AES128CBC.encrypt(vaultKey, key: transportKey, padding: .pkcs7)
    }

    /// Decrypts the vault key from the server.
    package static func decryptVaultKey(_ encrypted: [UInt8], transportKey: SecretBytes) throws(Unreadable)
        -> SecretBytes
    {
        guard let key = try? AES128CBC.decryptSecret(encrypted, key: transportKey, padding: .pkcs7), key.count == 16
        else { throw Unreadable() }
        return key
    }

    /// Encrypts the device's private key with the vault key. The scalar is a signed big-endian number in its shortest form: with
    /// a zero byte in front if its top bit is set, otherwise without leading zeros.
    package static func encrypt(
        devicePrivateKey: P256PrivateKey,
        vaultKey: SecretBytes
    ) throws(CryptoError) -> [UInt8] {
        let number = devicePrivateKey.scalar.withUnsafeBytes { scalar in
            let digits = scalar.drop { $0 == 0 }
            let sign: [UInt8] = (digits.first ?? 0) >= 0x80 ? [0] : []
            return SecretBytes(count: sign.count + digits.count) { number in
                number.copyBytes(from: sign)
                UnsafeMutableRawBufferPointer(rebasing: number[sign.count...]).copyBytes(from: digits)
            }
        }
        return try AES128CBC.encrypt(number, key: vaultKey, padding: .pkcs7)
    }

    package static func decryptDevicePrivateKey(
        _ encrypted: [UInt8],
        vaultKey: SecretBytes
    ) throws(Unreadable) -> P256PrivateKey {
        guard let number = try? AES128CBC.decryptSecret(encrypted, key: vaultKey, padding: .pkcs7),
            (1...33).contains(number.count)
        else { throw Unreadable() }
        let scalar: SecretBytes? = number.withUnsafeBytes { number in
            let digits = number.drop { $0 == 0 }
            guard digits.count <= 32 else { return nil }
            return SecretBytes(count: 32) { scalar in
                UnsafeMutableRawBufferPointer(rebasing: scalar[(32 - digits.count)...]).copyBytes(from: digits)
            }
        }
        guard let scalar, let key = try? P256PrivateKey(scalar: scalar) else { throw Unreadable() }
        return key
    }

    /// Derives a key for an application's own data: `KDF(KEY_ENCRYPTION_VAULT, index)`.
    package static func dataKey(vaultKey: SecretBytes, index: UInt64) throws(CryptoError) -> SecretBytes {
        try KeyDerivation.derive(vaultKey, index: index)
    }
}
