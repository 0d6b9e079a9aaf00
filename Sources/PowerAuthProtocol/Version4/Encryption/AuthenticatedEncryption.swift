package import PowerAuthCrypto

extension Version4 {
    /// Authenticated encryption: AES-256-CTR and KMAC, under two keys derived for one key context.
    ///
    /// A sealed message is the nonce (12 bytes), the tag (32 bytes) and the ciphertext.
    package struct AuthenticatedEncryption: Sendable {
        /// The length of a nonce, which must never be used twice with one key and key context.
        package static let nonceByteCount = 12
        /// The length of a tag.
        package static let tagByteCount = 32
        /// The number of bytes by which a sealed message is longer than its content.
        package static let overheadByteCount = Self.nonceByteCount + Self.tagByteCount

        private let encryptionKey: SecretBytes
        private let authenticationKey: SecretBytes

        /// Derives the keys.
        ///
        /// - Throws: `invalidLength` unless the key has 32 bytes.
        package init(key: SecretBytes, context: [UInt8]) throws(CryptoError) {
            guard key.count == AES256CTR.keyByteCount else { throw CryptoError(.invalidLength) }
            (self.encryptionKey, self.authenticationKey) = try KeyDerivation.derivePair(
                key,
                labels: ("aead/enc", "aead/mac"),
                diversifier: context
            )
        }

        /// Encrypts and authenticates `plaintext`.
        ///
        /// - Throws: `invalidLength` unless the nonce has 12 bytes.
        package func seal(
            _ plaintext: [UInt8],
            nonce: [UInt8],
            associatedData: [UInt8]
        ) throws(CryptoError) -> [UInt8] {
            guard nonce.count == Self.nonceByteCount else { throw CryptoError(.invalidLength) }
            let ciphertext = try AES256CTR.apply(to: plaintext, key: self.encryptionKey, block: Self.block(nonce))
            return try nonce + self.tag(nonce: nonce, associatedData: associatedData, ciphertext: ciphertext)
                + ciphertext
        }

        /// Checks the tag of a sealed message, then decrypts it.
        ///
        /// - Throws: `authenticationFailed` when anything at all differs; `invalidLength` when the message is too short.
        package func open(_ sealed: [UInt8], associatedData: [UInt8]) throws(CryptoError) -> [UInt8] {
            guard sealed.count >= Self.overheadByteCount else { throw CryptoError(.invalidLength) }
            let nonce = [UInt8](sealed[..<Self.nonceByteCount])
            let ciphertext = [UInt8](sealed[Self.overheadByteCount...])
            let tag = try self.tag(nonce: nonce, associatedData: associatedData, ciphertext: ciphertext)
            guard constantTimeEquals(tag, [UInt8](sealed[Self.nonceByteCount..<Self.overheadByteCount])) else {
                throw CryptoError(.authenticationFailed)
            }
            return try AES256CTR.apply(to: ciphertext, key: self.encryptionKey, block: Self.block(nonce))
        }

        private static func block(_ nonce: [UInt8]) -> [UInt8] { nonce + [0, 0, 0, 0] }

        private func tag(nonce: [UInt8], associatedData: [UInt8], ciphertext: [UInt8]) throws(CryptoError) -> [UInt8] {
            try KMAC256.authenticate(
                nonce,
                associatedData,
                ciphertext,
                key: self.authenticationKey,
                customization: "PA4MAC-AEAD",
                count: Self.tagByteCount
            )
        }
    }
}
