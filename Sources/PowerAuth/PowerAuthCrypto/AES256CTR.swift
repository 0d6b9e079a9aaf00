import COpenSSL

/// AES-256 in counter mode, without integrity. Encryption and decryption are the same operation.
package enum AES256CTR {
    package static let keyByteCount = 32
    /// The length of the first counter block. Never use a block twice with the same key.
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

    /// Encrypts or decrypts a key without leaving a copy.
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

    /// Encrypts or decrypts memory, without allocations.
    ///
    /// - Throws: `invalidLength` unless the key has 32 bytes, the block 16, and input and output the same length.
    package static func apply(
        to input: UnsafeRawBufferPointer,
        key: SecretBytes,
        block: [UInt8],
        into output: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) {
        guard key.count == Self.keyByteCount, block.count == Self.blockByteCount, input.count == output.count,
            input.count <= Int(Int32.max)
        else { throw CryptoError(.invalidLength) }
        guard !input.isEmpty else { return }
        let context = ThreadContexts.current.counterCipher.pointer
        defer { Self.forget(context) }
        let status = key.withUnsafeBytes { EVP_CipherInit_ex2(context, nil, $0.octets, block, 1, nil) }
        require(status, "EVP_CipherInit_ex2")
        var count: Int32 = 0
        require(EVP_CipherUpdate(context, output.octets, &count, input.octets, Int32(input.count)), "EVP_CipherUpdate")
        precondition(Int(count) == input.count)
    }

    private static let zeros = [UInt8](repeating: 0, count: Self.keyByteCount)

    /// Overwrites the key with zeros, and the buffered key stream with that of zeros.
    private static func forget(_ context: OpaquePointer) {
        require(EVP_CipherInit_ex2(context, nil, Self.zeros, Self.zeros, 1, nil), "EVP_CipherInit_ex2")
        var (count, byte): (Int32, UInt8) = (0, 0)
        require(EVP_CipherUpdate(context, &byte, &count, Self.zeros, 1), "EVP_CipherUpdate")
    }
}
