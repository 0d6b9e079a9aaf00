package import PowerAuthCrypto

extension Version4 {
    /// Encryption of a key without integrity, on purpose: a wrong password gives a wrong key, hence a code that only the server
    /// can refuse, and count. Nothing here may ever reveal whether a password is right.
    ///
    /// A wrapped key is the initialization vector (16 bytes) and the key under AES-256-CTR, 48 bytes in all.
    package enum KeyWrap {
        /// The length of a vector. Draw a new one for every key that is wrapped.
        package static let vectorByteCount = AES256CTR.blockByteCount
        /// The length of a key.
        package static let keyByteCount = 32

        /// Returns `key` encrypted under `wrappingKey`.
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

        /// Returns the key that was wrapped; a wrong one for a wrong wrapping key.
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

    /// The knowledge key wrapped under a key that is derived from the password and a salt.
    package struct ProtectedKnowledgeKey: Sendable, Equatable {
        /// The length of a salt. Draw a new one with every change of the password.
        package static let saltByteCount = 32

        /// 32 bytes.
        package let salt: [UInt8]
        /// 48 bytes; see ``KeyWrap``.
        package let wrappedKey: [UInt8]

        /// Restores a key that was stored.
        package init(salt: [UInt8], wrappedKey: [UInt8]) {
            self.salt = salt
            self.wrappedKey = wrappedKey
        }

        /// Wraps `key` under `password`.
        ///
        /// - Parameters:
        ///   - salt: 32 random bytes.
        ///   - vector: 16 random bytes.
        /// - Throws: `invalidLength` for a password shorter than four bytes, and when anything else has another length.
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

        /// Returns the key that makes codes; a wrong one for a wrong password.
        ///
        /// - Throws: `invalidLength` for a password shorter than four bytes, and when the stored key has another length.
        package func key(password: SecretBytes) throws(CryptoError) -> SecretBytes {
            try KeyWrap.unwrap(
                self.wrappedKey,
                under: KeyDerivation.passwordKey(password: password, salt: self.salt)
            )
        }
    }
}
