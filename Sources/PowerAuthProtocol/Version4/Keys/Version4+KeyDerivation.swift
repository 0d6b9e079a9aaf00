package import PowerAuthCrypto

extension Version4 {
    /// The ways in which version 4 derives one key from another.
    package enum KeyDerivation {
        /// The smallest number of bytes in the salt of a password.
        package static let minimumSaltByteCount = 32

        /// Returns `KDF(key, label, diversifier, count)`: KMAC of label and diversifier, each after its length.
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

        /// Returns two keys of 32 bytes, `KDF(key, label, diversifier, 32)` for each label.
        ///
        /// - Throws: `invalidLength` for a key of an impossible length.
        package static func derivePair(
            _ key: SecretBytes,
            labels: (String, String),
            diversifier: [UInt8]
        ) throws(CryptoError) -> (SecretBytes, SecretBytes) {
            let first = [UInt8].withLengths(Array(labels.0.utf8), diversifier)
            let second = [UInt8].withLengths(Array(labels.1.utf8), diversifier)
            return try KMAC256.derivePair(from: (first, second), key: key, customization: "PA4KDF")
        }

        /// Returns `PBKDF(password, salt)`. It has no rounds: a password is protected by the server, which alone can tell
        /// whether it is right, and counts.
        ///
        /// - Throws: `invalidLength` for a password shorter than four bytes, or a salt shorter than 32.
        package static func passwordKey(
            password: SecretBytes,
            salt: [UInt8],
            count: Int = 32
        ) throws(CryptoError) -> SecretBytes {
            guard salt.count >= Self.minimumSaltByteCount else { throw CryptoError(.invalidLength) }
            return try KMAC256.derive(from: salt, key: password, customization: "PA4PBKDF", count: count)
        }

        /// Returns the key of 256 bits for a biometric key of 128.
        package static func expandedBiometryKey(_ key: SecretBytes) throws(CryptoError) -> SecretBytes {
            try Self.derive(key, label: "other/expand-biometry-key")
        }

        /// Returns the key of the tokens that request a temporary key in the scope of the application.
        package static func temporaryKeyRequestKey(
            applicationSecret: ApplicationSecret
        ) throws(CryptoError) -> SecretBytes {
            try Self.derive(applicationSecret.bytes, label: "util/mac/get-app-temp-key")
        }
    }
}
