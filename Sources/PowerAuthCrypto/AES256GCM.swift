import COpenSSL

/// AES-256 in Galois/counter mode: encryption that notices any change.
package enum AES256GCM {
    /// The length of a key: 32 bytes.
    package static let keyByteCount = 32
    /// The length of a nonce: 12 bytes. A nonce must never be used twice with one key.
    package static let nonceByteCount = 12
    /// The length of the tag that ``seal(_:key:nonce:associatedData:)`` appends: 16 bytes.
    package static let tagByteCount = 16

    /// Encrypts, and appends the tag.
    ///
    /// - Throws: `invalidLength` when key or nonce have another length.
    package static func seal(
        _ plaintext: SecretBytes,
        key: SecretBytes,
        nonce: [UInt8],
        associatedData: [UInt8] = []
    ) throws(CryptoError) -> [UInt8] {
        let context = try Self.begin(encrypting: true, key: key, nonce: nonce, associatedData: associatedData)
        defer { EVP_CIPHER_CTX_reset(context) }  // wipes the key
        guard plaintext.count <= Int(Int32.max) - Self.tagByteCount else { throw CryptoError(.invalidLength) }
        return [UInt8](unsafeUninitializedCapacity: plaintext.count + Self.tagByteCount) { output, initialized in
            var count: Int32 = 0
            plaintext.withUnsafeBytes { plaintext in
                let source = plaintext.address.assumingMemoryBound(to: UInt8.self)
                let status = EVP_EncryptUpdate(context, output.baseAddress, &count, source, Int32(plaintext.count))
                require(status, "EVP_EncryptUpdate")
            }
            let tag = output.baseAddress?.advanced(by: plaintext.count)
            require(EVP_EncryptFinal_ex(context, tag, &count), "EVP_EncryptFinal_ex")
            let status = EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagByteCount), tag)
            require(status, "EVP_CTRL_AEAD_GET_TAG")
            initialized = plaintext.count + Self.tagByteCount
        }
    }

    /// Decrypts what ``seal(_:key:nonce:associatedData:)`` made.
    ///
    /// - Throws: `authenticationFailed` when anything differs: text, tag, key, nonce or associated data;
    ///   `invalidLength` when key, nonce or text cannot be right.
    package static func open(
        _ sealed: [UInt8],
        key: SecretBytes,
        nonce: [UInt8],
        associatedData: [UInt8] = []
    ) throws(CryptoError) -> SecretBytes {
        guard sealed.count >= Self.tagByteCount, sealed.count <= Int(Int32.max) else {
            throw CryptoError(.invalidLength)
        }
        let context = try Self.begin(encrypting: false, key: key, nonce: nonce, associatedData: associatedData)
        defer { EVP_CIPHER_CTX_reset(context) }  // wipes the key
        let textCount = sealed.count - Self.tagByteCount
        var tag = [UInt8](sealed[textCount...])
        return try SecretBytes(count: textCount) { (output) throws(CryptoError) in
            var count: Int32 = 0
            let target = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
            require(EVP_DecryptUpdate(context, target, &count, sealed, Int32(textCount)), "EVP_DecryptUpdate")
            let status = EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagByteCount), &tag)
            require(status, "EVP_CTRL_AEAD_SET_TAG")
            guard EVP_DecryptFinal_ex(context, target?.advanced(by: textCount), &count) == 1 else {
                throw CryptoError.last(.authenticationFailed)
            }
        }
    }

    private static func begin(
        encrypting: Bool,
        key: SecretBytes,
        nonce: [UInt8],
        associatedData: [UInt8]
    ) throws(CryptoError) -> OpaquePointer {
        guard key.count == Self.keyByteCount, nonce.count == Self.nonceByteCount,
            associatedData.count <= Int(Int32.max)
        else { throw CryptoError(.invalidLength) }
        let context = ThreadContexts.current.cipher
        let status = key.withUnsafeBytes { key in
            EVP_CipherInit_ex2(
                context,
                Algorithm.aes256GCM,
                key.baseAddress?.assumingMemoryBound(to: UInt8.self),
                nonce,
                encrypting ? 1 : 0,
                nil
            )
        }
        require(status, "EVP_CipherInit_ex2")
        var count: Int32 = 0
        let associated = EVP_CipherUpdate(context, nil, &count, associatedData, Int32(associatedData.count))
        require(associated, "EVP_CipherUpdate")
        return context
    }
}
