import COpenSSL

/// AES-256 in counter mode: encryption that notices no change. Encrypting and decrypting are the same operation.
package enum AES256CTR {
    /// The length of a key: 32 bytes.
    package static let keyByteCount = 32
    /// The length of the first counter block: 16 bytes. A block must never be used twice with one key.
    package static let blockByteCount = 16

    /// Encrypts or decrypts `text`.
    ///
    /// - Throws: `invalidLength` when the key is not 32 bytes or the block not 16.
    package static func apply(to text: [UInt8], key: SecretBytes, block: [UInt8]) throws(CryptoError) -> [UInt8] {
        var outcome: Result<Void, CryptoError> = .success(())
        let output = [UInt8](unsafeUninitializedCapacity: text.count) { output, count in
            let memory = UnsafeMutableRawBufferPointer(start: output.baseAddress, count: text.count)
            do throws(CryptoError) {
                try text.withBytes { (text) throws(CryptoError) in
                    try Self.apply(to: text, key: key, block: block, into: memory)
                }
                count = text.count
            } catch {
                outcome = .failure(error)
            }
        }
        try outcome.get()
        return output
    }

    /// Encrypts or decrypts a key, leaving no copy of it behind.
    ///
    /// - Throws: `invalidLength` when the key is not 32 bytes or the block not 16.
    package static func apply(to text: SecretBytes, key: SecretBytes, block: [UInt8]) throws(CryptoError) -> SecretBytes
    {
        try SecretBytes(count: text.count) { (output) throws(CryptoError) in
            try text.withUnsafeBytes { (text) throws(CryptoError) in
                try Self.apply(to: text, key: key, block: block, into: output)
            }
        }
    }

    private static func apply(
        to text: UnsafeRawBufferPointer,
        key: SecretBytes,
        block: [UInt8],
        into output: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) {
        guard key.count == Self.keyByteCount, block.count == Self.blockByteCount, text.count <= Int(Int32.max) else {
            throw CryptoError(.invalidLength)
        }
        let context = ThreadContexts.current.cipher
        defer { EVP_CIPHER_CTX_reset(context) }  // wipes the key
        let status = key.withUnsafeBytes { key in
            let key = key.baseAddress?.assumingMemoryBound(to: UInt8.self)
            return EVP_CipherInit_ex2(context, Algorithm.aes256CTR, key, block, 1, nil)
        }
        require(status, "EVP_CipherInit_ex2")
        var count: Int32 = 0
        let source = text.address.assumingMemoryBound(to: UInt8.self)
        let target = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        guard !text.isEmpty else { return }
        require(EVP_CipherUpdate(context, target, &count, source, Int32(text.count)), "EVP_CipherUpdate")
        precondition(Int(count) == text.count)
    }
}
