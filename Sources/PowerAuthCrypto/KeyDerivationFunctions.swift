internal import COpenSSL

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

/// The key derivation of ANSI X9.63 with SHA-256: counter hashing of a shared secret and public information.
package enum X963KDF {
    /// Derives a key of `count` bytes.
    ///
    /// - Throws: `libcrypto` when the library refuses.
    package static func deriveKey(
        secret: SecretBytes,
        info: [UInt8],
        count: Int
    ) throws(CryptoError) -> SecretBytes {
        let context = require(EVP_KDF_CTX_new(Algorithm.x963), "EVP_KDF_CTX_new")
        defer { EVP_KDF_CTX_free(context) }
        return try SecretBytes(count: count) { (key) throws(CryptoError) in
            let status = secret.withUnsafeBytes { secret in
                COpenSSL_X963_SHA256(
                    context,
                    secret.address,
                    secret.count,
                    info,
                    info.count,
                    key.baseAddress,
                    key.count
                )
            }
            guard status == 1 else { throw CryptoError.last(.libcrypto(operation: "X963KDF")) }
        }
    }
}
