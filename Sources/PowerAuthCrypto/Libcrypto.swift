import COpenSSL

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The algorithms, looked up once in the life of the process: a look-up costs more than the work it is for.
enum Algorithm {
    // Unsafe to the compiler, because a C pointer says nothing about threads: libcrypto's fetched methods are
    // immutable and made to be shared, and these are never freed.
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
    // As above; a group is only ever read.
    nonisolated(unsafe) static let p256 = require(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1), "EC_GROUP")
    nonisolated(unsafe) static let p384 = require(EC_GROUP_new_by_curve_name(NID_secp384r1), "EC_GROUP")
}

/// The contexts that the calls of one thread share, so that a signature allocates none.
///
/// Each is used and left within one synchronous call, so no two uses can meet. Ciphers forget their key at the end of
/// it. The MAC's context keeps its last one until the next takes its place, since wiping costs as much as setting up: after
/// a signature that is the key of this one signature, never that of a factor. The key of a store, which seals everything, is
/// not used with it; see ``HMACSHA256/deriveLeavingNoCopy(from:key:)``.
final class ThreadContexts {
    let mac: OpaquePointer
    let digest: OpaquePointer
    let cipher: OpaquePointer
    /// Set up for AES-128-CBC of whole blocks: setting one up anew takes longer than a few blocks do.
    let blockCipher: OpaquePointer
    let p256KeyGenerator = KeyGenerator(group: "P-256")
    /// Makes keys of either curve from their bytes.
    let keyImporter: OpaquePointer
    // What only version 4 of the protocol needs, made at its first use.
    lazy var hmacSHA384 = MACContext(Algorithm.hmac, digest: "SHA384")
    lazy var kmac256 = MACContext(Algorithm.kmac256)
    lazy var p384KeyGenerator = KeyGenerator(group: "P-384")
    var noncePool = NoncePool()

    private init() {
        self.mac = require(EVP_MAC_CTX_new(Algorithm.hmac), "EVP_MAC_CTX_new")
        require(COpenSSL_MAC_set_digest(self.mac, "SHA256"), "EVP_MAC_CTX_set_params")
        self.digest = require(EVP_MD_CTX_new(), "EVP_MD_CTX_new")
        self.cipher = require(EVP_CIPHER_CTX_new(), "EVP_CIPHER_CTX_new")
        self.blockCipher = require(EVP_CIPHER_CTX_new(), "EVP_CIPHER_CTX_new")
        let prepared = EVP_CipherInit_ex2(self.blockCipher, Algorithm.aes128CBC, nil, nil, 1, nil)
        require(prepared, "EVP_CipherInit_ex2")
        require(EVP_CIPHER_CTX_set_padding(self.blockCipher, 0), "EVP_CIPHER_CTX_set_padding")
        self.keyImporter = require(EVP_PKEY_CTX_new_from_name(nil, "EC", nil), "EVP_PKEY_CTX_new_from_name")
    }

    deinit {
        EVP_MAC_CTX_free(self.mac)
        EVP_MD_CTX_free(self.digest)
        EVP_CIPHER_CTX_free(self.cipher)
        EVP_CIPHER_CTX_free(self.blockCipher)
        EVP_PKEY_CTX_free(self.keyImporter)
    }

    /// The context of one message authentication code.
    final class MACContext {
        let pointer: OpaquePointer

        init(_ algorithm: OpaquePointer, digest: String? = nil) {
            self.pointer = require(EVP_MAC_CTX_new(algorithm), "EVP_MAC_CTX_new")
            if let digest { require(COpenSSL_MAC_set_digest(self.pointer, digest), "EVP_MAC_CTX_set_params") }
        }

        deinit { EVP_MAC_CTX_free(self.pointer) }
    }

    /// Makes key pairs of one curve.
    final class KeyGenerator {
        let pointer: OpaquePointer

        init(group: String) {
            self.pointer = require(EVP_PKEY_CTX_new_from_name(nil, "EC", nil), "EVP_PKEY_CTX_new_from_name")
            require(EVP_PKEY_keygen_init(self.pointer), "EVP_PKEY_keygen_init")
            require(EVP_PKEY_CTX_set_group_name(self.pointer, group), "EVP_PKEY_CTX_set_group_name")
        }

        deinit { EVP_PKEY_CTX_free(self.pointer) }
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let status = pthread_key_create(&key) { contexts in  // runs when a thread ends
            guard let contexts else { return }
            Unmanaged<ThreadContexts>.fromOpaque(contexts).release()
        }
        precondition(status == 0, "no thread-specific storage left")
        return key
    }()

    /// The contexts of the calling thread, made at its first call.
    static var current: ThreadContexts {
        if let contexts = pthread_getspecific(Self.key) {
            return Unmanaged<ThreadContexts>.fromOpaque(contexts).takeUnretainedValue()
        }
        let contexts = ThreadContexts()
        pthread_setspecific(Self.key, Unmanaged.passRetained(contexts).toOpaque())
        return contexts
    }
}

/// The libcrypto that the process has loaded, which may be newer than the one it was compiled against.
package enum CryptoLibrary {
    /// Its name and version, such as `OpenSSL 3.0.19`.
    package static let version = "OpenSSL " + String(cString: OpenSSL_version(OPENSSL_VERSION_STRING))
}

/// Unwraps what libcrypto refuses only when it is out of memory or lacks its default algorithms: no caller could go on.
func require(_ pointer: OpaquePointer?, _ operation: StaticString) -> OpaquePointer {
    guard let pointer else { preconditionFailure("libcrypto: \(operation) failed") }
    return pointer
}

/// Checks a call whose input is always right, so that only the library itself can fail it.
func require(_ status: Int32, _ operation: StaticString) {
    precondition(status == 1, "libcrypto: \(operation) failed")
}

extension UnsafeRawBufferPointer {
    /// The address, never `nil`: libcrypto reads `NULL` as "keep the last key", not as "empty".
    var address: UnsafeRawPointer { self.baseAddress ?? UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped }
}
