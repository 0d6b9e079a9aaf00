import COpenSSL

/// AES-256 in counter mode, without integrity. Encrypting and decrypting are the same operation.
package enum AES256CTR {
    /// The length of a key: 32 bytes.
    package static let keyByteCount = 32
    /// The length of the first counter block: 16 bytes. A block must never be used twice with one key.
    package static let blockByteCount = 16

    /// Encrypts or decrypts `input`.
    ///
    /// - Throws: `invalidLength` unless the key has 32 bytes and the block 16.
    package static func apply(to input: [UInt8], key: SecretBytes, block: [UInt8]) throws(CryptoError) -> [UInt8] {
        try [UInt8](count: input.count) { (output) throws(CryptoError) in
            try input.withBytes { (input) throws(CryptoError) in
                try Self.apply(to: input, key: key, block: block, into: output)
            }
        }
    }

    /// Encrypts or decrypts a key, leaving no copy of it behind.
    ///
    /// - Throws: `invalidLength` unless the key has 32 bytes and the block 16.
    package static func apply(
        to input: SecretBytes,
        key: SecretBytes,
        block: [UInt8]
    ) throws(CryptoError) -> SecretBytes {
        try SecretBytes(count: input.count) { (output) throws(CryptoError) in
            try input.withUnsafeBytes { (input) throws(CryptoError) in
                try Self.apply(to: input, key: key, block: block, into: output)
            }
        }
    }

    private static func apply(
        to input: UnsafeRawBufferPointer,
        key: SecretBytes,
        block: [UInt8],
        into output: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) {
        guard key.count == Self.keyByteCount, block.count == Self.blockByteCount, input.count <= Int(Int32.max) else {
            throw CryptoError(.invalidLength)
        }
        guard !input.isEmpty else { return }
        let context = ThreadContexts.current.cipher
        defer { EVP_CIPHER_CTX_reset(context) }  // wipes the key
        let status = key.withUnsafeBytes { EVP_CipherInit_ex2(context, Algorithm.aes256CTR, $0.octets, block, 1, nil) }
        require(status, "EVP_CipherInit_ex2")
        var count: Int32 = 0
        require(EVP_CipherUpdate(context, output.octets, &count, input.octets, Int32(input.count)), "EVP_CipherUpdate")
        precondition(Int(count) == input.count)
    }
}
