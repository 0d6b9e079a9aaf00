import COpenSSL

/// AES-256 in Galois/counter mode: authenticated encryption.
package enum AES256GCM {
    package static let keyByteCount = 32
    /// The length of a nonce. Never use a nonce twice with the same key.
    package static let nonceByteCount = 12
    /// The length of the tag that ``seal(_:key:nonce:associatedData:)`` appends.
    package static let tagByteCount = 16

    /// Encrypts `plaintext` and appends the tag.
    ///
    /// - Throws: `invalidLength` unless the key has 32 bytes and the nonce 12.
    package static func seal(
        _ plaintext: SecretBytes,
        key: SecretBytes,
        nonce: [UInt8],
        associatedData: [UInt8] = []
    ) throws(CryptoError) -> [UInt8] {
        guard plaintext.count <= Int(Int32.max) - Self.tagByteCount else { throw CryptoError(.invalidLength) }
        let context = try Self.begin(encrypting: true, key: key, nonce: nonce, associatedData: associatedData)
        defer { EVP_CIPHER_CTX_reset(context) }  // wipes the key
        return [UInt8](count: plaintext.count + Self.tagByteCount) { output in
            var count: Int32 = 0
            let status = plaintext.withUnsafeBytes { plaintext in
                EVP_EncryptUpdate(context, output.octets, &count, plaintext.octets, Int32(plaintext.count))
            }
            require(status, "EVP_EncryptUpdate")
            let tag = output.octets?.advanced(by: plaintext.count)
            require(EVP_EncryptFinal_ex(context, tag, &count), "EVP_EncryptFinal_ex")
            let tagStatus = EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagByteCount), tag)
            require(tagStatus, "EVP_CTRL_AEAD_GET_TAG")
        }
    }

    /// Decrypts the result of ``seal(_:key:nonce:associatedData:)``.
    ///
    /// - Throws: `authenticationFailed` for another ciphertext, tag, key, nonce or associated data; `invalidLength` for an
    ///   impossible length.
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
        let plaintextCount = sealed.count - Self.tagByteCount
        var tag = [UInt8](sealed[plaintextCount...])
        return try SecretBytes(count: plaintextCount) { (output) throws(CryptoError) in
            var count: Int32 = 0
            let status = EVP_DecryptUpdate(context, output.octets, &count, sealed, Int32(plaintextCount))
            require(status, "EVP_DecryptUpdate")
            let tagStatus = EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagByteCount), &tag)
            require(tagStatus, "EVP_CTRL_AEAD_SET_TAG")
            guard EVP_DecryptFinal_ex(context, output.octets?.advanced(by: plaintextCount), &count) == 1 else {
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
            EVP_CipherInit_ex2(context, Algorithm.aes256GCM, key.octets, nonce, encrypting ? 1 : 0, nil)
        }
        require(status, "EVP_CipherInit_ex2")
        var count: Int32 = 0
        let associated = EVP_CipherUpdate(context, nil, &count, associatedData, Int32(associatedData.count))
        require(associated, "EVP_CipherUpdate")
        return context
    }
}
