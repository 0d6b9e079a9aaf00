import COpenSSL
import EmulatorBackend
import PowerAuthCrypto
import PowerAuthProtocol

/// The arithmetic of version 4, each case beside what bare OpenSSL takes for the same work. Suites that this machine lacks are
/// left out.
let version4Benchmarks: [Benchmark] =
    [
        signing4("sign4.possession", .possession, atMost: 6000),
        signing4("sign4.possession_knowledge", .possessionKnowledge, atMost: 12_000),
        encryption4,
        status4,
    ] + AlgorithmSuite.available.map(sharedSecret)

private func signing4(
    _ name: String,
    _ type: Version4.AuthenticationCodeType,
    atMost limit: Double
) -> Benchmark {
    Benchmark(name, "a code over 256 bytes with a fresh nonce, as header text", goals: [.atMost(limit)]) {
        let fixture = try Version4Fixture()
        let floor = BareOpenSSL4()
        let keys = type == .possession ? [fixture.keys.possession] : [fixture.keys.possession, fixture.keys.knowledge]
        return Scenario(
            Subject { try fixture.header(type, keys: keys) },
            baselines: [
                Subject("OpenSSL") {
                    floor.random()
                    for index in 0..<keys.count {
                        floor.kmac(of: index == 0 ? 32 : 64)
                        floor.kmac(of: 400)
                    }
                }
            ]
        )
    }
}

private let encryption4 = Benchmark(
    "e2ee4.roundtrip",
    "256 bytes encrypted for the activation, and the response decrypted",
    goals: [.atMost(40_000)]
) {
    let fixture = try Version4Fixture()
    let floor = BareOpenSSL4()
    let nonce = SecureRandom.bytes(Version4.ClientExchange.nonceByteCount)
    let timestamp: Int64 = 1_790_000_000_000
    var client = Version4.ClientExchange(parameters: try fixture.parameters())
    var server = Version4.ServerExchange(parameters: try fixture.parameters())
    _ = try server.decryptRequest(client.encryptRequest(fixture.body, nonce: nonce, timestamp: timestamp))
    let response = try server.encryptResponse(fixture.body, timestamp: timestamp)
    return Scenario(
        Subject {
            var client = Version4.ClientExchange(parameters: try fixture.parameters())
            blackHole(try client.encryptRequest(fixture.body, nonce: nonce, timestamp: timestamp))
            return try client.decryptResponse(response)
        },
        baselines: [
            // The keys are the same for both directions.
            Subject("OpenSSL") {
                floor.kmac(of: 16)
                for _ in 0..<2 { floor.kmac(of: 64) }
                for _ in 0..<2 {
                    floor.aes(256)
                    floor.kmac(of: 480)
                }
            }
        ]
    )
}

private let status4 = Benchmark("status4.decode", "a status blob, verified and read", goals: [.atMost(4000)]) {
    let key = SecureRandom.secret(32)
    let floor = BareOpenSSL4()
    let bytes = try ActivationStatusBlob(
        state: .active,
        currentVersion: Version4.major,
        flags: [],
        counterByte: 1,
        failedAttempts: 0,
        maxFailedAttempts: 5,
        lookAhead: 20,
        counterHash: SecureRandom.bytes(32)
    ).bytes(key: key)
    return Scenario(
        Subject { try ActivationStatusBlob(bytes, key: key) },
        baselines: [Subject("OpenSSL") { floor.kmac(of: 48) }]
    )
}

/// The client's half: fresh keys, and the secret of a response.
private func sharedSecret(_ suite: AlgorithmSuite) -> Benchmark {
    let name =
        switch suite {
        case .p384: "p384"
        case .p384MLLevel3: "ml_l3"
        case .p384MLLevel5: "ml_l5"
        }
    return Benchmark("sharedsecret4.\(name)", "fresh keys, and the secret of a response", goals: [.atMost(3_000_000)]) {
        let floor = BareOpenSSL4(mlkem: suite.keyEncapsulation?.algorithm.rawValue)
        // A response to another request gives a secret all the same, and takes as long.
        let (response, _) = try Version4.SharedSecretAgreement(suite: suite).request.agree(
            ephemeralKey: .generate(),
            salt: SecureRandom.bytes(32)
        )
        return Scenario(
            Subject { try Version4.SharedSecretAgreement(suite: suite).secret(from: response) },
            baselines: [
                Subject("OpenSSL") {
                    floor.generateKey()
                    floor.agree()
                    floor.kmac(of: 160)
                    floor.generateAndDecapsulate()
                }
            ]
        )
    }
}

/// One activation, made of random keys.
private struct Version4Fixture: Sendable {
    static let activationID = "f48ae8c3-3e0d-4b0a-8b8d-8a0b8d2b0a11"
    static let applicationKey = "cwMx6hbyX7dbsDdCyGyUFg=="

    struct Unusable: Error {}

    let keys: Version4.ActivationKeys
    let applicationSecret: ApplicationSecret
    let temporaryKey = SecureRandom.secret(32)
    let counter = Version4.HashCounter(data: SecureRandom.secret(32))
    let body = SecureRandom.bytes(256)

    init() throws {
        self.keys = try Version4.ActivationKeys(activationSecret: SecureRandom.secret(32))
        guard let secret = ApplicationSecret(bytes: SecureRandom.secret(16)) else { throw Unusable() }
        self.applicationSecret = secret
    }

    func parameters() throws -> Version4.EncryptionParameters {
        try Version4.EncryptionParameters(
            applicationKey: Self.applicationKey,
            applicationSecret: self.applicationSecret,
            scope: .activation(id: Self.activationID, sharedInfo2Key: self.keys.utility.sharedInfo2),
            purpose: .tokenCreate,
            temporaryKeyID: Self.activationID,
            temporaryKey: self.temporaryKey
        )
    }

    /// The whole text of a signed request's header, with a fresh nonce.
    func header(_ type: Version4.AuthenticationCodeType, keys: [SecretBytes]) throws -> String {
        let nonce = SecureRandom.bytes(16)
        let data = SignatureData(method: "POST", uriID: "/operation/authorize", nonce: nonce, body: self.body)
        return Version4.AuthenticationHeader(
            activationID: Self.activationID,
            applicationKey: Self.applicationKey,
            nonce: nonce,
            type: type,
            code: try Version4.AuthenticationCode(
                data,
                keys: keys,
                counter: self.counter,
                secret: .online(self.applicationSecret)
            )
        ).value
    }
}

/// The work of a case of version 4 done by bare OpenSSL; see ``BareOpenSSL``.
private final class BareOpenSSL4: @unchecked Sendable {  // used by one benchmark's loop, never by two threads at once
    private let mac: OpaquePointer?
    private let cipher = EVP_CIPHER_CTX_new()
    private let aes256CTR = EVP_CIPHER_fetch(nil, "AES-256-CTR", nil)
    private let generator = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
    private var key: OpaquePointer?
    private var peer: OpaquePointer?
    private let derivation: OpaquePointer?
    private let kem: OpaquePointer?
    private let message = [UInt8](repeating: 0x61, count: 2048)
    private var output = [UInt8](repeating: 0, count: 4096)
    private var ciphertext = [UInt8](repeating: 0, count: 4096)
    private var ciphertextCount = 4096

    /// - Parameter mlkem: The name of a key encapsulation, if the case has one.
    init(mlkem: String? = nil) {
        let method = EVP_MAC_fetch(nil, "KMAC-256", nil)
        defer { EVP_MAC_free(method) }
        self.mac = EVP_MAC_CTX_new(method)
        EVP_PKEY_keygen_init(self.generator)
        EVP_PKEY_CTX_set_group_name(self.generator, "P-384")
        EVP_PKEY_generate(self.generator, &self.key)
        EVP_PKEY_generate(self.generator, &self.peer)
        self.derivation = EVP_PKEY_CTX_new_from_pkey(nil, self.key, nil)
        EVP_PKEY_derive_init(self.derivation)
        self.kem = mlkem.map { EVP_PKEY_CTX_new_from_name(nil, $0, nil) } ?? nil
        guard let kem = self.kem else { return }
        EVP_PKEY_keygen_init(kem)
        var key: OpaquePointer?
        EVP_PKEY_generate(kem, &key)
        let context = EVP_PKEY_CTX_new_from_pkey(nil, key, nil)
        EVP_PKEY_encapsulate_init(context, nil)
        var count = self.output.count
        EVP_PKEY_encapsulate(context, &self.ciphertext, &self.ciphertextCount, &self.output, &count)
        EVP_PKEY_CTX_free(context)
        EVP_PKEY_free(key)
    }

    deinit {
        EVP_MAC_CTX_free(self.mac)
        EVP_CIPHER_CTX_free(self.cipher)
        EVP_CIPHER_free(self.aes256CTR)
        EVP_PKEY_CTX_free(self.generator)
        EVP_PKEY_CTX_free(self.derivation)
        EVP_PKEY_CTX_free(self.kem)
        EVP_PKEY_free(self.key)
        EVP_PKEY_free(self.peer)
    }

    /// 16 random bytes.
    func random() {
        RAND_bytes(&self.output, 16)
    }

    /// A KMAC256 of `count` bytes, with a key of its own.
    func kmac(of count: Int) {
        var length = 0
        COpenSSL_KMAC_init(self.mac, self.message, 32, self.message, 6, 32)
        EVP_MAC_update(self.mac, self.message, count)
        EVP_MAC_final(self.mac, &self.output, &length, self.output.count)
    }

    /// AES-256-CTR of `count` bytes.
    func aes(_ count: Int) {
        var length: Int32 = 0
        EVP_CipherInit_ex2(self.cipher, self.aes256CTR, self.message, self.message, 1, nil)
        EVP_CipherUpdate(self.cipher, &self.output, &length, self.message, Int32(count))
    }

    /// A fresh key on the curve.
    func generateKey() {
        var key: OpaquePointer?
        EVP_PKEY_generate(self.generator, &key)
        EVP_PKEY_free(key)
    }

    /// One Diffie-Hellman agreement.
    func agree() {
        var length = 48
        EVP_PKEY_derive_set_peer_ex(self.derivation, self.peer, 0)
        EVP_PKEY_derive(self.derivation, &self.output, &length)
    }

    /// A fresh key of the key encapsulation, and one decapsulation.
    func generateAndDecapsulate() {
        guard let kem = self.kem else { return }
        var key: OpaquePointer?
        EVP_PKEY_generate(kem, &key)
        let context = EVP_PKEY_CTX_new_from_pkey(nil, key, nil)
        EVP_PKEY_decapsulate_init(context, nil)
        var count = self.output.count
        EVP_PKEY_decapsulate(context, &self.output, &count, self.ciphertext, self.ciphertextCount)
        EVP_PKEY_CTX_free(context)
        EVP_PKEY_free(key)
    }
}
