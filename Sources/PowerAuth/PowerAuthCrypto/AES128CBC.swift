import COpenSSL

package enum AES128CBC {
    package enum Padding: Sendable {
        case pkcs7
        /// No padding: the input consists of whole blocks.
        case none
    }

    /// The length of a key, an initialization vector and a block.
    package static let blockByteCount = 16
    /// The zero initialization vector, for keys that encrypt only once.
    package static let zeroIV = [UInt8](repeating: 0, count: Self.blockByteCount)

    /// Encrypts `plaintext`.
    ///
    /// - Throws: `invalidLength` unless key and vector are 16 bytes and, without padding, `plaintext` consists of whole blocks.
    package static func encrypt(
        _ plaintext: [UInt8],
        key: SecretBytes,
        iv: [UInt8] = Self.zeroIV,
        padding: Padding
    ) throws(CryptoError) -> [UInt8] {
        try plaintext.withBytes { (plaintext) throws(CryptoError) in
            try Self.transform(plaintext, encrypting: true, key: key, iv: iv, padding: padding)
        }
    }

    /// Encrypts a key.
    ///
    /// - Throws: `invalidLength` unless key and vector are 16 bytes and, without padding, `plaintext` consists of whole blocks.
    package static func encrypt(
        _ plaintext: SecretBytes,
        key: SecretBytes,
        iv: [UInt8] = Self.zeroIV,
        padding: Padding
    ) throws(CryptoError) -> [UInt8] {
        try plaintext.withUnsafeBytes { (plaintext) throws(CryptoError) in
            try Self.transform(plaintext, encrypting: true, key: key, iv: iv, padding: padding)
        }
    }

    /// Decrypts `ciphertext`.
    ///
    /// - Throws: `invalidLength` unless key and vector are 16 bytes and `ciphertext` consists of whole blocks; `invalidPadding`.
    package static func decrypt(
        _ ciphertext: [UInt8],
        key: SecretBytes,
        iv: [UInt8] = Self.zeroIV,
        padding: Padding
    ) throws(CryptoError) -> [UInt8] {
        try ciphertext.withBytes { (ciphertext) throws(CryptoError) in
            try Self.transform(ciphertext, encrypting: false, key: key, iv: iv, padding: padding)
        }
    }

    /// Decrypts a key without leaving a copy.
    ///
    /// - Throws: The errors of ``decrypt(_:key:iv:padding:)``.
    package static func decryptSecret(
        _ ciphertext: [UInt8],
        key: SecretBytes,
        iv: [UInt8] = Self.zeroIV,
        padding: Padding
    ) throws(CryptoError) -> SecretBytes {
        var count = 0
        let padded = try SecretBytes(count: ciphertext.count + Self.blockByteCount) { (output) throws(CryptoError) in
            count = try ciphertext.withBytes { (ciphertext) throws(CryptoError) in
                try Self.transform(ciphertext, into: output, encrypting: false, key: key, iv: iv, padding: padding)
            }
        }
        return padded.withUnsafeBytes { SecretBytes(copying: $0.prefix(count)) }
    }

    /// Encrypts whole blocks in memory, without allocations.
    ///
    /// - Throws: `invalidLength` unless key and vector are 16 bytes and `plaintext` consists of whole blocks.
    package static func encryptBlocks(
        _ plaintext: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer,
        key: SecretBytes,
        iv: [UInt8] = Self.zeroIV
    ) throws(CryptoError) {
        _ = try Self.transform(plaintext, into: output, encrypting: true, key: key, iv: iv, padding: .none)
    }

    private static func transform(
        _ input: UnsafeRawBufferPointer,
        encrypting: Bool,
        key: SecretBytes,
        iv: [UInt8],
        padding: Padding
    ) throws(CryptoError) -> [UInt8] {
        var count = 0
        var output = try [UInt8](count: input.count + Self.blockByteCount) { (output) throws(CryptoError) in
            count = try Self.transform(input, into: output, encrypting: encrypting, key: key, iv: iv, padding: padding)
        }
        output.removeLast(output.count - count)
        return output
    }

    /// Encrypts or decrypts into memory with room for an extra block if there is padding. Returns the number of bytes written.
    private static func transform(
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer,
        encrypting: Bool,
        key: SecretBytes,
        iv: [UInt8],
        padding: Padding
    ) throws(CryptoError) -> Int {
        let isPadded = padding == .pkcs7
        let isWholeBlocks = input.count.isMultiple(of: Self.blockByteCount)
        guard key.count == Self.blockByteCount, iv.count == Self.blockByteCount,
            isPadded ? encrypting || isWholeBlocks && !input.isEmpty : isWholeBlocks,
            input.count <= Int(Int32.max) - Self.blockByteCount
        else { throw CryptoError(.invalidLength) }
        precondition(output.count >= input.count + (isPadded && encrypting ? Self.blockByteCount : 0))

        let contexts = ThreadContexts.current
        let context = isPadded ? contexts.cipher : contexts.blockCipher
        defer {
            if isPadded {
                EVP_CIPHER_CTX_reset(context)  // wipes the key and the last block
            } else {
                // Setting another key wipes this one. Whole blocks are not buffered, so nothing else needs wiping.
                require(EVP_CipherInit_ex2(context, nil, Self.zeroIV, Self.zeroIV, 1, nil), "EVP_CipherInit_ex2")
            }
        }
        let started = key.withUnsafeBytes { key in
            EVP_CipherInit_ex2(context, isPadded ? Algorithm.aes128CBC : nil, key.octets, iv, encrypting ? 1 : 0, nil)
        }
        require(started, "EVP_CipherInit_ex2")
        var (count, lastCount): (Int32, Int32) = (0, 0)
        require(EVP_CipherUpdate(context, output.octets, &count, input.octets, Int32(input.count)), "EVP_CipherUpdate")
        guard EVP_CipherFinal_ex(context, output.octets?.advanced(by: Int(count)), &lastCount) == 1 else {
            output.wipe()  // holds part of the plaintext
            throw CryptoError.last(.invalidPadding)
        }
        return Int(count + lastCount)
    }
}
