internal import COpenSSL

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
                try Self.apply(encrypting: false, ciphertext, key: key, iv: iv, padding: padding, into: output)
            }
        }
        return padded.withUnsafeBytes { SecretBytes(copying: $0.prefix(count)) }
    }

    /// Encrypts whole blocks from one piece of memory to another, with a zero vector. Allocates nothing.
    ///
    /// - Throws: `invalidLength` when the key is not 16 bytes, or the text is not whole blocks.
    package static func encryptBlocks(
        _ plaintext: UnsafeRawBufferPointer,
        key: SecretBytes,
        into output: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) {
        precondition(output.count >= plaintext.count)
        _ = try Self.applyToBlocks(encrypting: true, plaintext, key: key, iv: Self.zeroIV, into: output)
    }

    private static func apply(
        encrypting: Bool,
        _ input: UnsafeRawBufferPointer,
        key: SecretBytes,
        iv: [UInt8],
        padding: Padding,
        into output: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) -> Int {
        switch padding {
        case .none: try Self.applyToBlocks(encrypting: encrypting, input, key: key, iv: iv, into: output)
        case .pkcs7: try Self.applyPadded(encrypting: encrypting, input, key: key, iv: iv, into: output)
        }
    }

    private static func applyPadded(
        encrypting: Bool,
        _ input: UnsafeRawBufferPointer,
        key: SecretBytes,
        iv: [UInt8],
        into output: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) -> Int {
        guard key.count == Self.blockByteCount, iv.count == Self.blockByteCount,
            encrypting || input.count.isMultiple(of: Self.blockByteCount) && !input.isEmpty,
            input.count <= Int(Int32.max) - Self.blockByteCount
        else { throw CryptoError(.invalidLength) }
        let context = ThreadContexts.current.cipher
        defer { EVP_CIPHER_CTX_reset(context) }  // wipes the key, and the last block
        Self.start(context, Algorithm.aes128CBC, key: key, iv: iv, encrypting: encrypting)
        let source = input.address.assumingMemoryBound(to: UInt8.self)
        let target = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var count: Int32 = 0
        var lastCount: Int32 = 0
        require(EVP_CipherUpdate(context, target, &count, source, Int32(input.count)), "EVP_CipherUpdate")
        guard EVP_CipherFinal_ex(context, target?.advanced(by: Int(count)), &lastCount) == 1 else {
            throw CryptoError.last(.invalidPadding)
        }
        return Int(count + lastCount)
    }

    private static func applyToBlocks(
        encrypting: Bool,
        _ input: UnsafeRawBufferPointer,
        key: SecretBytes,
        iv: [UInt8],
        into output: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) -> Int {
        guard key.count == Self.blockByteCount, iv.count == Self.blockByteCount,
            input.count.isMultiple(of: Self.blockByteCount), input.count <= Int(Int32.max)
        else { throw CryptoError(.invalidLength) }
        let context = ThreadContexts.current.blockCipher
        // Another key in its place wipes the key. Whole blocks pass straight through, so there is nothing else to wipe.
        defer { require(EVP_CipherInit_ex2(context, nil, Self.zeroIV, Self.zeroIV, 1, nil), "EVP_CipherInit_ex2") }
        Self.start(context, nil, key: key, iv: iv, encrypting: encrypting)
        let source = input.address.assumingMemoryBound(to: UInt8.self)
        let target = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var count: Int32 = 0
        require(EVP_CipherUpdate(context, target, &count, source, Int32(input.count)), "EVP_CipherUpdate")
        precondition(Int(count) == input.count, "libcrypto kept a whole block back")
        return Int(count)
    }

    /// - Parameter algorithm: `nil` for the one that the context is set up for.
    private static func start(
        _ context: OpaquePointer,
        _ algorithm: OpaquePointer?,
        key: SecretBytes,
        iv: [UInt8],
        encrypting: Bool
    ) {
        let status = key.withUnsafeBytes { key in
            let key = key.baseAddress?.assumingMemoryBound(to: UInt8.self)
            return EVP_CipherInit_ex2(context, algorithm, key, iv, encrypting ? 1 : 0, nil)
        }
        require(status, "EVP_CipherInit_ex2")
    }

    private static func applied(
        encrypting: Bool,
        to input: UnsafeRawBufferPointer,
        key: SecretBytes,
        iv: [UInt8],
        padding: Padding
    ) throws(CryptoError) -> [UInt8] {
        var outcome: Result<Int, CryptoError> = .success(0)
        let bytes = [UInt8](unsafeUninitializedCapacity: input.count + Self.blockByteCount) { buffer, count in
            let output = UnsafeMutableRawBufferPointer(buffer)
            do throws(CryptoError) {
                count = try Self.apply(
                    encrypting: encrypting,
                    input,
                    key: key,
                    iv: iv,
                    padding: padding,
                    into: output
                )
            } catch {
                output.wipe()  // half a decrypted text
                outcome = .failure(error)
            }
        }
        _ = try outcome.get()
        return bytes
    }
}

extension [UInt8] {
    /// `withUnsafeBytes` with a typed error.
    package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let outcome = self.withUnsafeBytes { bytes -> Swift.Result<Result, Failure> in
            do throws(Failure) { return .success(try body(bytes)) } catch { return .failure(error) }
        }
        return try outcome.get()
    }
}
