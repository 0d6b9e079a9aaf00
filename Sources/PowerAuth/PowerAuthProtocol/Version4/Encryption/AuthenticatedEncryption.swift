package import PowerAuthCrypto

extension Version4 {
    /// Authenticated encryption: AES-256-CTR and KMAC, with two keys derived for a key context. A sealed message is nonce (12
    /// bytes), tag (32 bytes) and ciphertext.
    package struct AuthenticatedEncryption: Sendable {
        /// The length of a nonce. Never use one twice with the same key and context.
        package static let nonceByteCount = 12
        package static let tagByteCount = 32
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
            // Each part is written to its final place.
            return try [UInt8](count: Self.overheadByteCount + plaintext.count) { (sealed) throws(CryptoError) in
                sealed.copyBytes(from: nonce)
                let ciphertext = UnsafeMutableRawBufferPointer(rebasing: sealed[Self.overheadByteCount...])
                try plaintext.withBytes { (plaintext) throws(CryptoError) in
                    try self.crypt(plaintext, nonce: nonce, into: ciphertext)
                }
                let tag = UnsafeMutableRawBufferPointer(rebasing: sealed[Self.tagRange])
                try self.authenticate(UnsafeRawBufferPointer(ciphertext), nonce, associatedData, into: tag)
            }
        }

        /// Verifies a sealed message, then decrypts it.
        ///
        /// - Throws: `authenticationFailed` for any difference; `invalidLength` for a message that is too short.
        package func open(_ sealed: [UInt8], associatedData: [UInt8]) throws(CryptoError) -> [UInt8] {
            guard sealed.count >= Self.overheadByteCount else { throw CryptoError(.invalidLength) }
            let nonce = [UInt8](sealed[..<Self.nonceByteCount])
            return try sealed.withBytes { (sealed) throws(CryptoError) in
                let ciphertext = UnsafeRawBufferPointer(rebasing: sealed[Self.overheadByteCount...])
                let tag = try [UInt8](count: Self.tagByteCount) { (tag) throws(CryptoError) in
                    try self.authenticate(ciphertext, nonce, associatedData, into: tag)
                }
                let isRight = tag.withUnsafeBytes {
                    constantTimeEquals($0, UnsafeRawBufferPointer(rebasing: sealed[Self.tagRange]))
                }
                guard isRight else { throw CryptoError(.authenticationFailed) }
                return try [UInt8](count: ciphertext.count) { (plaintext) throws(CryptoError) in
                    try self.crypt(ciphertext, nonce: nonce, into: plaintext)
                }
            }
        }

        private static let tagRange = Self.nonceByteCount..<Self.overheadByteCount

        private func crypt(
            _ input: UnsafeRawBufferPointer,
            nonce: [UInt8],
            into output: UnsafeMutableRawBufferPointer
        ) throws(CryptoError) {
            let block = nonce + [0, 0, 0, 0]
            try AES256CTR.apply(to: input, key: self.encryptionKey, block: block, into: output)
        }

        private func authenticate(
            _ ciphertext: UnsafeRawBufferPointer,
            _ nonce: [UInt8],
            _ associatedData: [UInt8],
            into tag: UnsafeMutableRawBufferPointer
        ) throws(CryptoError) {
            try self.authenticationKey.withUnsafeBytes { (key) throws(CryptoError) in
                try KMAC256.authenticate(key: key, customization: "PA4MAC-AEAD", into: tag) { message in
                    message.update(nonce)
                    message.update(associatedData)
                    message.update(ciphertext)
                }
            }
        }
    }
}
