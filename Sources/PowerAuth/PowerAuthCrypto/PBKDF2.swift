import COpenSSL

/// PBKDF2 with HMAC-SHA-1, for passwords in protocol version 3.
package enum PBKDF2 {
    /// Derives a key of `count` bytes from a password.
    ///
    /// - Throws: `invalidLength` for an empty salt, zero iterations or an empty key.
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
                    password.octets,
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
