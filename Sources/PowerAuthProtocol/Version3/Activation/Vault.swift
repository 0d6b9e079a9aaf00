package import PowerAuthCrypto

/// Encryption under `KEY_ENCRYPTION_VAULT`, which the server hands out after two factors have signed.
///
/// All of it is AES-128-CBC with PKCS#7 padding and a zero vector.
package enum Vault {
    /// The error for anything of the vault that cannot be decrypted.
    package struct Unreadable: Error, Equatable, Sendable {
        package init() {}
    }

    /// Returns the vault key as the server sends it, under `KEY_TRANSPORT`.
    package static func encrypt(vaultKey: SecretBytes, transportKey: SecretBytes) throws(CryptoError) -> [UInt8] {
        try AES128CBC.encrypt(vaultKey, key: transportKey, padding: .pkcs7)
    }

    /// Returns the vault key that the server sent.
    package static func decryptVaultKey(_ encrypted: [UInt8], transportKey: SecretBytes) throws(Unreadable)
        -> SecretBytes
    {
        guard let key = try? AES128CBC.decryptSecret(encrypted, key: transportKey, padding: .pkcs7), key.count == 16
        else { throw Unreadable() }
        return key
    }

    /// Returns the device's private key as it is stored, under the vault key.
    ///
    /// The scalar is written as a signed big-endian number in its shortest form: a zero byte before it when its top bit is
    /// set, no leading zeros otherwise.
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

    /// Returns the device's private key, for as long as the caller holds it.
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

    /// Returns a key for an application's own data: `KDF(KEY_ENCRYPTION_VAULT, index)`.
    package static func dataKey(vaultKey: SecretBytes, index: UInt64) throws(CryptoError) -> SecretBytes {
        try KeyDerivation.derive(vaultKey, index: index)
    }
}
