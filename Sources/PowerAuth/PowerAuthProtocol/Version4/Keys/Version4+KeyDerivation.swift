package import PowerAuthCrypto

extension Version4 {
    package enum KeyDerivation {
        /// The minimum length of a password's salt in bytes.
        package static let minimumSaltByteCount = 32

        /// Returns `KDF(key, label, diversifier, count)`: KMAC of label and diversifier, with length prefixes.
        ///
        /// - Throws: `invalidLength` for an invalid length of a key.
        package static func derive(
            _ key: SecretBytes,
            label: String,
            diversifier: [UInt8] = [],
            count: Int = 32
        ) throws(CryptoError) -> SecretBytes {
            let message = [UInt8].withLengths(Array(label.utf8), diversifier)
            return try KMAC256.derive(from: message, key: key, customization: "PA4KDF", count: count)
        }

        /// Returns two 32-byte keys, `KDF(key, label, diversifier, 32)` per label.
        ///
        /// - Throws: `invalidLength` for an invalid length of the key.
        package static func derivePair(
            _ key: SecretBytes,
            labels: (String, String),
            diversifier: [UInt8]
        ) throws(CryptoError) -> (SecretBytes, SecretBytes) {
            let first = [UInt8].withLengths(Array(labels.0.utf8), diversifier)
            let second = [UInt8].withLengths(Array(labels.1.utf8), diversifier)
            return try KMAC256.derivePair(from: (first, second), key: key, customization: "PA4KDF")
        }

        /// Returns `PBKDF(password, salt)`. It has no rounds: the server, which alone can check a password, limits the attempts.
        ///
        /// - Throws: `invalidLength` for a password below four bytes or a salt below 32.
        package static func passwordKey(
            password: SecretBytes,
            salt: [UInt8],
            count: Int = 32
        ) throws(CryptoError) -> SecretBytes {
            guard salt.count >= Self.minimumSaltByteCount else { throw CryptoError(.invalidLength) }
            return try KMAC256.derive(from: salt, key: password, customization: "PA4PBKDF", count: count)
        }

        /// Expands a 128-bit biometric key to 256 bits.
        package static func expandedBiometryKey(_ key: SecretBytes) throws(CryptoError) -> SecretBytes {
            try Self.derive(key, label: "other/expand-biometry-key")
        }

        /// Returns the key that signs requests for temporary keys in the application scope.
        package static func temporaryKeyRequestKey(
            applicationSecret: ApplicationSecret
        ) throws(CryptoError) -> SecretBytes {
            try Self.derive(applicationSecret.bytes, label: "util/mac/get-app-temp-key")
        }
    }
}
