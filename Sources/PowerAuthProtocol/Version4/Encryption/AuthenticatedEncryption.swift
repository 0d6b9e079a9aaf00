package import PowerAuthCrypto

extension Version4 {
    /// Authenticated encryption: AES-256-CTR and KMAC, under two keys derived for one key context.
    ///
    /// A sealed message is the nonce (12 bytes), the tag (32 bytes) and the ciphertext.
    package enum AuthenticatedEncryption {
        /// The length of a nonce, which must never be used twice with one key and key context.
        package static let nonceByteCount = 12
        /// The length of a tag.
        package static let tagByteCount = 32
        /// The number of bytes by which a sealed message is longer than its content.
        package static let overheadByteCount = Self.nonceByteCount + Self.tagByteCount

        /// Encrypts and authenticates `plaintext`.
        ///
        /// - Throws: `invalidLength` unless the key has 32 bytes and the nonce 12.
        package static func seal(
            _ plaintext: [UInt8],
            key: SecretBytes,
            keyContext: [UInt8],
            nonce: [UInt8],
            associatedData: [UInt8]
        ) throws(CryptoError) -> [UInt8] {
            guard nonce.count == Self.nonceByteCount else { throw CryptoError(.invalidLength) }
            let keys = try Keys(key, context: keyContext)
            let ciphertext = try AES256CTR.apply(to: plaintext, key: keys.encryption, block: Self.block(nonce))
            return try nonce + keys.tag(nonce: nonce, associatedData: associatedData, ciphertext: ciphertext)
                + ciphertext
        }

        /// Checks the tag of a sealed message, then decrypts it.
        ///
        /// - Throws: `authenticationFailed` when anything at all differs; `invalidLength` when the message is too short or
        ///   the key does not have 32 bytes.
        package static func open(
            _ sealed: [UInt8],
            key: SecretBytes,
            keyContext: [UInt8],
            associatedData: [UInt8]
        ) throws(CryptoError) -> [UInt8] {
            guard sealed.count >= Self.overheadByteCount else { throw CryptoError(.invalidLength) }
            let nonce = [UInt8](sealed[..<Self.nonceByteCount])
            let ciphertext = [UInt8](sealed[Self.overheadByteCount...])
            let keys = try Keys(key, context: keyContext)
            let tag = try keys.tag(nonce: nonce, associatedData: associatedData, ciphertext: ciphertext)
            guard constantTimeEquals(tag, [UInt8](sealed[Self.nonceByteCount..<Self.overheadByteCount])) else {
                throw CryptoError(.authenticationFailed)
            }
            return try AES256CTR.apply(to: ciphertext, key: keys.encryption, block: Self.block(nonce))
        }

        private static func block(_ nonce: [UInt8]) -> [UInt8] { nonce + [0, 0, 0, 0] }

        private struct Keys {
            let encryption: SecretBytes
            let authentication: SecretBytes

            init(_ key: SecretBytes, context: [UInt8]) throws(CryptoError) {
                guard key.count == AES256CTR.keyByteCount else { throw CryptoError(.invalidLength) }
                self.encryption = try KeyDerivation.derive(key, label: "aead/enc", diversifier: context)
                self.authentication = try KeyDerivation.derive(key, label: "aead/mac", diversifier: context)
            }

            func tag(nonce: [UInt8], associatedData: [UInt8], ciphertext: [UInt8]) throws(CryptoError) -> [UInt8] {
                try KMAC256.authenticate(
                    nonce,
                    associatedData,
                    ciphertext,
                    key: self.authentication,
                    customization: "PA4MAC-AEAD",
                    count: AuthenticatedEncryption.tagByteCount
                )
            }
        }
    }
}
