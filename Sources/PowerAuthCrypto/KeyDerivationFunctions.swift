import COpenSSL

/// PBKDF2 with HMAC-SHA-1, which is what the protocol stretches passwords with.
package enum PBKDF2 {
    /// Derives a key of `count` bytes from a password.
    ///
    /// - Throws: `invalidLength` for no salt, no rounds or no output.
    package static func deriveKey(
        password: SecretBytes,
        salt: [UInt8],
        iterations: UInt32,
        count: Int
    ) throws(CryptoError) -> SecretBytes {
        guard !salt.isEmpty, iterations > 0, count > 0 else { throw CryptoError(.invalidLength) }
        let context = require(EVP_KDF_CTX_new(Algorithm.pbkdf2), "EVP_KDF_CTX_new")
        defer { EVP_KDF_CTX_free(context) }
        return try SecretBytes(count: count) { (key) throws(CryptoError) in
            let status = password.withUnsafeBytes { password in
                COpenSSL_PBKDF2_SHA1(
                    context,
                    password.address,
                    password.count,
                    salt,
                    salt.count,
                    iterations,
                    key.baseAddress,
                    key.count
                )
            }
            guard status == 1 else { throw CryptoError.last(.libcrypto(operation: "PBKDF2")) }
        }
    }
}

/// The key derivation of ANSI X9.63 with SHA-256: the secret, a counter and public information, hashed block by block.
package enum X963KDF {
    /// Derives a key of `count` bytes.
    ///
    /// - Throws: `invalidLength` for no output, or more than any protocol asks for.
    package static func deriveKey(
        secret: SecretBytes,
        info: [UInt8],
        count: Int
    ) throws(CryptoError) -> SecretBytes {
        guard (1...8160).contains(count) else { throw CryptoError(.invalidLength) }
        let blockCount = (count + SHA256.byteCount - 1) / SHA256.byteCount
        let blocks = SecretBytes(count: blockCount * SHA256.byteCount) { blocks in
            let input = SecretBytes(count: secret.count + 4 + info.count) { input in
                secret.withUnsafeBytes { input.copyMemory(from: $0) }
                UnsafeMutableRawBufferPointer(rebasing: input[(secret.count + 4)...]).copyBytes(from: info)
                // Only the counter changes between the blocks; it fits its last byte.
                for block in 0..<blockCount {
                    input[secret.count + 3] = UInt8(block + 1)
                    let start = block * SHA256.byteCount
                    let hash = UnsafeMutableRawBufferPointer(rebasing: blocks[start..<(start + SHA256.byteCount)])
                    SHA256.hash(UnsafeRawBufferPointer(input), into: hash)
                }
            }
            withExtendedLifetime(input) {}
        }
        return blocks.withUnsafeBytes { SecretBytes(copying: $0.prefix(count)) }
    }
}
