import COpenSSL

/// AES-128 in CBC mode.
package enum AES128CBC {
    /// How the last block is filled.
    package enum Padding: Sendable {
        /// PKCS#7: one to sixteen bytes, each of them their number.
        case pkcs7
        /// None: the text must be whole blocks.
        case none
    }

    /// The length of a key, an initialisation vector and a block: 16 bytes.
    package static let blockByteCount = 16
    /// The initialisation vector of all zeros, for keys that encrypt one text only.
    package static let zeroIV = [UInt8](repeating: 0, count: Self.blockByteCount)

    /// Encrypts.
    ///
    /// - Throws: `invalidLength` when key or vector are not 16 bytes, or the text is not whole blocks without padding.
    package static func encrypt(
        _ plaintext: [UInt8],
        key: SecretBytes,
        iv: [UInt8] = Self.zeroIV,
        padding: Padding
    ) throws(CryptoError) -> [UInt8] {
        try plaintext.withBytes { (plaintext) throws(CryptoError) in
            try Self.applied(encrypting: true, to: plaintext, key: key, iv: iv, padding: padding)
        }
    }

    /// Encrypts a key.
    ///
    /// - Throws: `invalidLength` when key or vector are not 16 bytes, or the text is not whole blocks without padding.
    package static func encrypt(
        _ plaintext: SecretBytes,
        key: SecretBytes,
        iv: [UInt8] = Self.zeroIV,
        padding: Padding
    ) throws(CryptoError) -> [UInt8] {
        try plaintext.withUnsafeBytes { (plaintext) throws(CryptoError) in
            try Self.applied(encrypting: true, to: plaintext, key: key, iv: iv, padding: padding)
        }
    }

    /// Decrypts.
    ///
    /// - Throws: `invalidLength` when something is not of whole blocks, `invalidPadding` when the last one does not end
    ///   as it must.
    package static func decrypt(
        _ ciphertext: [UInt8],
        key: SecretBytes,
        iv: [UInt8] = Self.zeroIV,
        padding: Padding
    ) throws(CryptoError) -> [UInt8] {
        try ciphertext.withBytes { (ciphertext) throws(CryptoError) in
            try Self.applied(encrypting: false, to: ciphertext, key: key, iv: iv, padding: padding)
        }
    }

    /// Decrypts a key, leaving no copy of it behind.
    ///
    /// - Throws: `invalidLength` when something is not of whole blocks, `invalidPadding` when the last one does not end
    ///   as it must.
    package static func decryptSecret(
        _ ciphertext: [UInt8],
        key: SecretBytes,
        iv: [UInt8] = Self.zeroIV,
        padding: Padding
    ) throws(CryptoError) -> SecretBytes {
        var count = 0
        let padded = try SecretBytes(count: ciphertext.count + Self.blockByteCount) { (output) throws(CryptoError) in
            count = try ciphertext.withBytes { (ciphertext) throws(CryptoError) in
                try Self.apply(encrypting: false, ciphertext, into: output, key: key, iv: iv, padding: padding)
            }
        }
        return padded.withUnsafeBytes { SecretBytes(copying: $0.prefix(count)) }
    }

    /// Encrypts from one piece of memory to another, which has room for a block more when there is padding. Allocates
    /// nothing.
    ///
    /// - Returns: The number of bytes written.
    /// - Throws: `invalidLength` when key or vector are not 16 bytes, or the plaintext is not whole blocks without padding.
    package static func encrypt(
        _ plaintext: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer,
        key: SecretBytes,
        iv: [UInt8] = Self.zeroIV,
        padding: Padding
    ) throws(CryptoError) -> Int {
        try Self.apply(encrypting: true, plaintext, into: output, key: key, iv: iv, padding: padding)
    }

    private static func apply(
        encrypting: Bool,
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer,
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
                EVP_CIPHER_CTX_reset(context)  // wipes the key, and the last block
            } else {
                // Another key in its place wipes the key. Whole blocks pass straight through: nothing else is to be wiped.
                require(EVP_CipherInit_ex2(context, nil, Self.zeroIV, Self.zeroIV, 1, nil), "EVP_CipherInit_ex2")
            }
        }
        let started = key.withUnsafeBytes { key in
            let key = key.baseAddress?.assumingMemoryBound(to: UInt8.self)
            return EVP_CipherInit_ex2(context, isPadded ? Algorithm.aes128CBC : nil, key, iv, encrypting ? 1 : 0, nil)
        }
        require(started, "EVP_CipherInit_ex2")
        let source = input.address.assumingMemoryBound(to: UInt8.self)
        let target = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var (count, lastCount): (Int32, Int32) = (0, 0)
        require(EVP_CipherUpdate(context, target, &count, source, Int32(input.count)), "EVP_CipherUpdate")
        guard EVP_CipherFinal_ex(context, target?.advanced(by: Int(count)), &lastCount) == 1 else {
            output.wipe()  // half a decrypted text
            throw CryptoError.last(.invalidPadding)
        }
        return Int(count + lastCount)
    }

    private static func applied(
        encrypting: Bool,
        to input: UnsafeRawBufferPointer,
        key: SecretBytes,
        iv: [UInt8],
        padding: Padding
    ) throws(CryptoError) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: input.count + Self.blockByteCount)
        let count = try output.withUnsafeMutableBufferPointer { (output) throws(CryptoError) in
            let output = UnsafeMutableRawBufferPointer(output)
            return try Self.apply(encrypting: encrypting, input, into: output, key: key, iv: iv, padding: padding)
        }
        output.removeLast(output.count - count)
        return output
    }
}

extension [UInt8] {
    /// `withUnsafeBytes` with a typed error.
    package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try self.withUnsafeBufferPointer { (bytes) throws(Failure) in try body(UnsafeRawBufferPointer(bytes)) }
    }
}
