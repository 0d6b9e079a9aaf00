package import PowerAuthCrypto

extension Version4 {
    /// The ways in which version 4 makes one key from another.
    package enum KeyDerivation {
        /// How many bytes the salt of a password has at least.
        package static let minimumSaltByteCount = 32

        /// `KDF(key, label, diversifier, count)`: KMAC of label and diversifier, each after its length.
        ///
        /// - Throws: `invalidLength` for a key or a derived key of an impossible length.
        package static func derive(
            _ key: SecretBytes,
            label: String,
            diversifier: [UInt8] = [],
            count: Int = 32
        ) throws(CryptoError) -> SecretBytes {
            let message = [UInt8].withLengths(Array(label.utf8), diversifier)
            return try KMAC256.derive(from: message, key: key, customization: "PA4KDF", count: count)
        }

        /// `PBKDF(password, salt)`. It has no rounds: what protects a password is that only the server can tell whether it is
        /// right, and counts.
        ///
        /// - Throws: `invalidLength` for a password under four bytes, or a salt under 32.
        package static func passwordKey(
            password: SecretBytes,
            salt: [UInt8],
            count: Int = 32
        ) throws(CryptoError) -> SecretBytes {
            guard salt.count >= Self.minimumSaltByteCount else { throw CryptoError(.invalidLength) }
            return try KMAC256.derive(from: salt, key: password, customization: "PA4PBKDF", count: count)
        }

        /// Makes a key of 256 bits from a biometric key of 128.
        package static func expandedBiometryKey(_ key: SecretBytes) throws(CryptoError) -> SecretBytes {
            try Self.derive(key, label: "other/expand-biometry-key")
        }

        /// The key of the tokens that ask for a temporary key in the scope of the application.
        package static func temporaryKeyRequestKey(
            applicationSecret: ApplicationSecret
        ) throws(CryptoError) -> SecretBytes {
            try Self.derive(applicationSecret.bytes, label: "util/mac/get-app-temp-key")
        }
    }
}
