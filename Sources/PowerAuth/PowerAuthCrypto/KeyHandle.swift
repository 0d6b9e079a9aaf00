import COpenSSL

/// One reference to a libcrypto key. Unchecked, because a pointer says nothing about threads. The key is complete at creation,
/// later uses only read it, which libcrypto allows on many threads, and its reference count is atomic.
final class KeyHandle: @unchecked Sendable {
    let key: OpaquePointer

    init(owning key: OpaquePointer) { self.key = key }

    deinit { EVP_PKEY_free(self.key) }  // wipes a private scalar

    /// Returns the public key in libcrypto's encoding, of `count` bytes.
    func publicKeyBytes(count: Int) -> [UInt8] {
        [UInt8](count: count) { bytes in
            var written = 0
            let name = OSSL_PKEY_PARAM_PUB_KEY
            let status = EVP_PKEY_get_octet_string_param(self.key, name, bytes.octets, bytes.count, &written)
            require(status, "EVP_PKEY_get_octet_string_param")
            precondition(written == count)
        }
    }

    func withContext<Result>(_ body: (OpaquePointer) throws(CryptoError) -> Result) throws(CryptoError) -> Result {
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, self.key, nil) else {
            throw CryptoError.last(.libcrypto(operation: "EVP_PKEY_CTX_new_from_pkey"))
        }
        defer { EVP_PKEY_CTX_free(context) }
        return try body(context)
    }
}
