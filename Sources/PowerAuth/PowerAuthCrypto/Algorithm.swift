import COpenSSL

/// The algorithms, fetched once per process, because a lookup costs more than its use.
enum Algorithm {
    // Unsafe for the compiler, because a C pointer says nothing about threads. libcrypto's fetched methods are immutable, may be
    // shared, and are never freed here.
    nonisolated(unsafe) static let sha256 = require(EVP_MD_fetch(nil, "SHA256", nil), "EVP_MD_fetch")
    nonisolated(unsafe) static let hmac = require(EVP_MAC_fetch(nil, "HMAC", nil), "EVP_MAC_fetch")
    nonisolated(unsafe) static let aes128CBC = require(EVP_CIPHER_fetch(nil, "AES-128-CBC", nil), "EVP_CIPHER_fetch")
    nonisolated(unsafe) static let aes256GCM = require(EVP_CIPHER_fetch(nil, "AES-256-GCM", nil), "EVP_CIPHER_fetch")
    nonisolated(unsafe) static let sha384 = require(EVP_MD_fetch(nil, "SHA384", nil), "EVP_MD_fetch")
    nonisolated(unsafe) static let sha3 = require(EVP_MD_fetch(nil, "SHA3-256", nil), "EVP_MD_fetch")
    nonisolated(unsafe) static let kmac256 = require(EVP_MAC_fetch(nil, "KMAC-256", nil), "EVP_MAC_fetch")
    nonisolated(unsafe) static let aes256CTR = require(EVP_CIPHER_fetch(nil, "AES-256-CTR", nil), "EVP_CIPHER_fetch")
    nonisolated(unsafe) static let hkdf = require(EVP_KDF_fetch(nil, "HKDF", nil), "EVP_KDF_fetch")
    nonisolated(unsafe) static let pbkdf2 = require(EVP_KDF_fetch(nil, "PBKDF2", nil), "EVP_KDF_fetch")
    // As above: a group is only read.
    nonisolated(unsafe) static let p256 = require(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1), "EC_GROUP")
    nonisolated(unsafe) static let p384 = require(EC_GROUP_new_by_curve_name(NID_secp384r1), "EC_GROUP")
}
