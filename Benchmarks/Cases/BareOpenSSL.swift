import COpenSSL

/// The work of a case done by bare OpenSSL: algorithms fetched once, contexts reused, nothing else done.
///
/// Each case runs on one thread at a time, one after the other.
final class BareOpenSSL: @unchecked Sendable {  // used by one benchmark's loop, never by two threads at once
    private let mac: OpaquePointer?
    private let digest = EVP_MD_CTX_new()
    private let cipher = EVP_CIPHER_CTX_new()
    private let sha256 = EVP_MD_fetch(nil, "SHA256", nil)
    private let aes128CBC = EVP_CIPHER_fetch(nil, "AES-128-CBC", nil)
    private let generator = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
    private let key: OpaquePointer?
    private let peer: OpaquePointer?
    private let derivation: OpaquePointer?
    private let message = [UInt8](repeating: 0x61, count: 256)
    private let signature: [UInt8]
    private var output = [UInt8](repeating: 0, count: 512)

    init() {
        let method = EVP_MAC_fetch(nil, OSSL_MAC_NAME_HMAC, nil)
        defer { EVP_MAC_free(method) }
        self.mac = EVP_MAC_CTX_new(method)
        COpenSSL_MAC_set_digest(self.mac, "SHA256")
        EVP_PKEY_keygen_init(self.generator)
        EVP_PKEY_CTX_set_group_name(self.generator, "prime256v1")
        var (key, peer): (OpaquePointer?, OpaquePointer?)
        EVP_PKEY_generate(self.generator, &key)
        EVP_PKEY_generate(self.generator, &peer)
        (self.key, self.peer) = (key, peer)
        self.derivation = EVP_PKEY_CTX_new_from_pkey(nil, key, nil)
        EVP_PKEY_derive_init(self.derivation)

        var (signature, count) = ([UInt8](repeating: 0, count: 80), 80)
        EVP_DigestSignInit(self.digest, nil, self.sha256, nil, key)
        EVP_DigestSign(self.digest, &signature, &count, self.message, self.message.count)
        self.signature = Array(signature[..<count])
    }

    deinit {
        EVP_MAC_CTX_free(self.mac)
        EVP_MD_CTX_free(self.digest)
        EVP_CIPHER_CTX_free(self.cipher)
        EVP_MD_free(self.sha256)
        EVP_CIPHER_free(self.aes128CBC)
        EVP_PKEY_CTX_free(self.generator)
        EVP_PKEY_CTX_free(self.derivation)
        EVP_PKEY_free(self.key)
        EVP_PKEY_free(self.peer)
    }

    /// 16 random bytes.
    func random() {
        RAND_bytes(&self.output, 16)
    }

    /// HMACs of `count` bytes, each with a key of its own.
    func hmacs(_ number: Int, of count: Int) {
        for _ in 0..<number {
            var length = 0
            EVP_MAC_init(self.mac, self.message, 32, nil)
            EVP_MAC_update(self.mac, self.message, count)
            EVP_MAC_final(self.mac, &self.output, &length, self.output.count)
        }
    }

    /// AES-128-CBC of `count` bytes, encrypted or decrypted.
    func aes(_ count: Int, isEncryption: Bool) {
        var length: Int32 = 0
        EVP_CipherInit_ex2(self.cipher, self.aes128CBC, self.message, self.message, isEncryption ? 1 : 0, nil)
        EVP_CipherUpdate(self.cipher, &self.output, &length, self.message, Int32(count))
    }

    /// A SHA-256 of `count` bytes.
    func hash(_ count: Int) {
        EVP_DigestInit_ex2(self.digest, self.sha256, nil)
        EVP_DigestUpdate(self.digest, self.message, count)
        EVP_DigestFinal_ex(self.digest, &self.output, nil)
    }

    /// A fresh key on the curve.
    func generateKey() {
        var key: OpaquePointer?
        EVP_PKEY_generate(self.generator, &key)
        EVP_PKEY_free(key)
    }

    /// One Diffie-Hellman agreement.
    func agree() {
        var length = 32
        EVP_PKEY_derive_set_peer_ex(self.derivation, self.peer, 0)
        EVP_PKEY_derive(self.derivation, &self.output, &length)
    }

    /// One ECDSA verification with a key that is parsed already.
    func verify() -> Bool {
        EVP_DigestVerifyInit(self.digest, nil, self.sha256, nil, self.key)
        return EVP_DigestVerify(self.digest, self.signature, self.signature.count, self.message, self.message.count)
            == 1
    }

    /// The stretching of a password: 10 000 rounds of PBKDF2 with HMAC-SHA-1.
    func stretchPassword() {
        PKCS5_PBKDF2_HMAC_SHA1("password", 8, self.message, 16, 10_000, 16, &self.output)
    }
}
