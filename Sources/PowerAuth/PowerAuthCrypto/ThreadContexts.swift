import COpenSSL

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A thread's reusable contexts, so that a signature allocates none. Each is used within one synchronous call, so uses never
/// overlap. Ciphers wipe their key afterwards. The HMAC context keeps its last key until the next, because wiping costs as much
/// as setting up. After a signature that is a key of this signature, never a factor's. For a store's key, see
/// ``HMACSHA256/deriveLeavingNoCopy(from:key:)``.
final class ThreadContexts {
    let hmacSHA256 = MACContext(Algorithm.hmac, digest: "SHA256")
    let digest: OpaquePointer
    let cipher: OpaquePointer
    /// A context for whole blocks of AES-128-CBC, kept because its setup takes longer than a few blocks.
    let blockCipher: OpaquePointer
    let p256KeyGenerator = KeyGenerator(group: "P-256")
    /// The context for importing keys of either curve.
    let keyImporter: OpaquePointer
    // Created at first use, because only protocol version 4 needs them.
    lazy var counterCipher = CipherContext(Algorithm.aes256CTR)
    lazy var hmacSHA384 = MACContext(Algorithm.hmac, digest: "SHA384")
    lazy var kmac256 = MACContext(Algorithm.kmac256)
    lazy var p384KeyGenerator = KeyGenerator(group: "P-384")
    var noncePool = NoncePool()

    private init() {
        self.digest = require(EVP_MD_CTX_new(), "EVP_MD_CTX_new")
        self.cipher = require(EVP_CIPHER_CTX_new(), "EVP_CIPHER_CTX_new")
        self.blockCipher = require(EVP_CIPHER_CTX_new(), "EVP_CIPHER_CTX_new")
        let prepared = EVP_CipherInit_ex2(self.blockCipher, Algorithm.aes128CBC, nil, nil, 1, nil)
        require(prepared, "EVP_CipherInit_ex2")
        require(EVP_CIPHER_CTX_set_padding(self.blockCipher, 0), "EVP_CIPHER_CTX_set_padding")
        self.keyImporter = require(EVP_PKEY_CTX_new_from_name(nil, "EC", nil), "EVP_PKEY_CTX_new_from_name")
    }

    deinit {
        EVP_MD_CTX_free(self.digest)
        EVP_CIPHER_CTX_free(self.cipher)
        EVP_CIPHER_CTX_free(self.blockCipher)
        EVP_PKEY_CTX_free(self.keyImporter)
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

    /// The calling thread's contexts, created at its first call.
    static var current: ThreadContexts {
        if let contexts = pthread_getspecific(Self.key) {
            return Unmanaged<ThreadContexts>.fromOpaque(contexts).takeUnretainedValue()
        }
        let contexts = ThreadContexts()
        pthread_setspecific(Self.key, Unmanaged.passRetained(contexts).toOpaque())
        return contexts
    }
}

final class MACContext {
    let pointer: OpaquePointer

    init(_ algorithm: OpaquePointer, digest: String? = nil) {
        self.pointer = require(EVP_MAC_CTX_new(algorithm), "EVP_MAC_CTX_new")
        if let digest { require(COpenSSL_MAC_set_digest(self.pointer, digest), "EVP_MAC_CTX_set_params") }
    }

    deinit { EVP_MAC_CTX_free(self.pointer) }
}

/// A cipher's context, kept because its setup takes longer than a few blocks.
final class CipherContext {
    let pointer: OpaquePointer

    init(_ algorithm: OpaquePointer) {
        self.pointer = require(EVP_CIPHER_CTX_new(), "EVP_CIPHER_CTX_new")
        require(EVP_CipherInit_ex2(self.pointer, algorithm, nil, nil, 1, nil), "EVP_CipherInit_ex2")
    }

    deinit { EVP_CIPHER_CTX_free(self.pointer) }
}

/// A context for generating key pairs of one curve.
final class KeyGenerator {
    let pointer: OpaquePointer

    init(group: String) {
        self.pointer = require(EVP_PKEY_CTX_new_from_name(nil, "EC", nil), "EVP_PKEY_CTX_new_from_name")
        require(EVP_PKEY_keygen_init(self.pointer), "EVP_PKEY_keygen_init")
        require(EVP_PKEY_CTX_set_group_name(self.pointer, group), "EVP_PKEY_CTX_set_group_name")
    }

    deinit { EVP_PKEY_CTX_free(self.pointer) }
}
