import COpenSSL

/// HKDF (RFC 5869) with SHA-384, in its two steps.
package enum HKDFSHA384 {
    package static let byteCount = 48

    /// Extracts a key from `secret`.
    ///
    /// - Throws: `libcrypto` if the library fails.
    package static func extract(_ secret: SecretBytes, salt: SecretBytes) throws(CryptoError) -> SecretBytes {
        try salt.withUnsafeBytes { (salt) throws(CryptoError) in
            try Self.derive(expands: false, key: secret, input: salt, count: Self.byteCount)
        }
    }

    /// Expands `key` to `count` bytes.
    ///
    /// - Parameter info: The purpose of the key.
    /// - Throws: `invalidLength` unless `count` is 1 to 12 240.
    package static func expand(_ key: SecretBytes, info: [UInt8], count: Int) throws(CryptoError) -> SecretBytes {
        guard (1...(255 * Self.byteCount)).contains(count) else { throw CryptoError(.invalidLength) }
        return try info.withBytes { (info) throws(CryptoError) in
            try Self.derive(expands: true, key: key, input: info, count: count)
        }
    }

    private static func derive(
        expands: Bool,
        key: SecretBytes,
        input: UnsafeRawBufferPointer,
        count: Int
    ) throws(CryptoError) -> SecretBytes {
        let context = require(EVP_KDF_CTX_new(Algorithm.hkdf), "EVP_KDF_CTX_new")
        defer { EVP_KDF_CTX_free(context) }  // wipes its copies
        return try SecretBytes(count: count) { (output) throws(CryptoError) in
            let status = key.withUnsafeBytes { key in
                COpenSSL_HKDF_SHA384(
                    context,
                    expands ? 1 : 0,
                    key.octets,
                    key.count,
                    input.octets,
                    input.count,
                    output.baseAddress,
                    output.count
                )
            }
            guard status == 1 else { throw CryptoError.last(.libcrypto(operation: "HKDF")) }
        }
    }
}
