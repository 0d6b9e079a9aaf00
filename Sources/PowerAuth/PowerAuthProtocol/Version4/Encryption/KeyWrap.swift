package import PowerAuthCrypto

extension Version4 {
    /// Encryption of a key, deliberately without integrity: a wrong password yields a wrong key and so a code that the server
    /// refuses and counts. Nothing here may reveal whether a password is right. A wrapped key is the initialization vector (16
    /// bytes) and the key under AES-256-CTR, 48 bytes in all.
    package enum KeyWrap {
        /// The length of a vector. Use a new one for every key.
        package static let vectorByteCount = AES256CTR.blockByteCount
        package static let keyByteCount = 32

        /// Encrypts `key` with `wrappingKey`.
        ///
        /// - Throws: `invalidLength` unless both keys have 32 bytes and the vector 16.
        package static func wrap(
            _ key: SecretBytes,
            under wrappingKey: SecretBytes,
            vector: [UInt8]
        ) throws(CryptoError) -> [UInt8] {
            guard key.count == Self.keyByteCount else { throw CryptoError(.invalidLength) }
            return vector + (try AES256CTR.apply(to: key, key: wrappingKey, block: vector).disclosed)
        }

        /// Decrypts a wrapped key; a wrong wrapping key yields a wrong key.
        ///
        /// - Throws: `invalidLength` unless there are 48 bytes and the wrapping key has 32.
        package static func unwrap(
            _ wrapped: [UInt8],
            under wrappingKey: SecretBytes
        ) throws(CryptoError) -> SecretBytes {
            guard wrapped.count == Self.vectorByteCount + Self.keyByteCount else { throw CryptoError(.invalidLength) }
            let vector = [UInt8](wrapped[..<Self.vectorByteCount])
            let key = SecretBytes(copying: wrapped[Self.vectorByteCount...])
            return try AES256CTR.apply(to: key, key: wrappingKey, block: vector)
        }
    }

    /// The knowledge key, wrapped with a key derived from password and salt.
    package struct ProtectedKnowledgeKey: Sendable, Equatable {
        /// The length of a salt. Use a new one for every password change.
        package static let saltByteCount = 32

        /// 32 bytes.
        package let salt: [UInt8]
        /// 48 bytes; see ``KeyWrap``.
        package let wrappedKey: [UInt8]

        package init(salt: [UInt8], wrappedKey: [UInt8]) {
            self.salt = salt
            self.wrappedKey = wrappedKey
        }

        /// Wraps `key` with `password`.
        ///
        /// - Parameters:
        ///   - salt: 32 random bytes.
        ///   - vector: 16 random bytes.
        /// - Throws: `invalidLength` for a password below four bytes and any other invalid length.
        package init(
            protecting key: SecretBytes,
            password: SecretBytes,
            salt: [UInt8],
            vector: [UInt8]
        ) throws(CryptoError) {
            let passwordKey = try KeyDerivation.passwordKey(password: password, salt: salt)
            self.wrappedKey = try KeyWrap.wrap(key, under: passwordKey, vector: vector)
            self.salt = salt
        }

        /// Unwraps the key; a wrong password yields a wrong key.
        ///
        /// - Throws: `invalidLength` for a password below four bytes or a stored key of another length.
        package func key(password: SecretBytes) throws(CryptoError) -> SecretBytes {
            try KeyWrap.unwrap(
                self.wrappedKey,
                under: KeyDerivation.passwordKey(password: password, salt: self.salt)
            )
        }
    }
}
