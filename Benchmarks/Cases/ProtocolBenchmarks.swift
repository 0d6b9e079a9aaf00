import EmulatorBackend
import PowerAuthCrypto
import PowerAuthProtocol

/// The arithmetic of the protocol, each case beside what bare OpenSSL takes for the same work.
let protocolBenchmarks: [Benchmark] = [
    signing("sign.possession", .possession, atMost: 2500),
    signing("sign.possession_biometry", .possessionBiometry, atMost: 4000),
    signing("sign.possession_knowledge", .possessionKnowledge, atMost: 4000),

    Benchmark(
        "sign.possession_knowledge.password",
        "the same, with the knowledge key unlocked by its password first",
        goals: [.atMost(2_000_000)]
    ) {
        let fixture = try Fixture()
        let floor = BareOpenSSL()
        let password = SecretBytes(utf8: "correct horse")
        let salt = SecureRandom.bytes(16)
        let stored = try KnowledgeKeyProtection.protect(fixture.keys.knowledge, password: password, salt: salt)
        return Scenario(
            Subject {
                let knowledge = try KnowledgeKeyProtection.unprotect(stored, password: password, salt: salt)
                return fixture.header(.possessionKnowledge, keys: [fixture.keys.possession, knowledge])
            },
            baselines: [
                Subject("OpenSSL") {
                    floor.stretchPassword()
                    floor.aes(16, isEncryption: false)
                    floor.bareSignature(factors: 2)
                }
            ]
        )
    },

    Benchmark("sign.offline.possession_biometry", "an offline signature, 16 digits", goals: [.atMost(4000)]) {
        let fixture = try Fixture()
        let floor = BareOpenSSL()
        return Scenario(
            Subject {
                let data = SignatureData(
                    method: "POST",
                    uriID: "/operation/authorize/offline",
                    nonce: fixture.nonce,
                    body: fixture.body
                )
                let keys = [fixture.keys.possession, fixture.keys.biometry]
                return RequestSignature(data, keys: keys, counter: fixture.counter, secret: .offline).offline()
            },
            baselines: [
                Subject("OpenSSL") {
                    floor.hmacs(3, of: 16)
                    floor.hmacs(2, of: 400)
                }
            ]
        )
    },

    Benchmark("token.header", "the header of a token, with a fresh nonce", goals: [.atMost(1000)]) {
        let fixture = try Fixture()
        let floor = BareOpenSSL()
        return Scenario(
            Subject {
                TokenHeader(
                    tokenID: Fixture.activationID,
                    secret: fixture.keys.transport,
                    nonce: SecureRandom.bytes(16),
                    timestamp: 1_790_000_000_000,
                    version: .v3_3
                ).value
            },
            baselines: [
                Subject("OpenSSL") {
                    floor.random()
                    floor.hmacs(1, of: 36)
                }
            ]
        )
    },

    encryption("ecies.application.roundtrip", isActivationScope: false),
    encryption("ecies.activation.roundtrip", isActivationScope: true),

    Benchmark("status.decode", "an encrypted status blob, decrypted and read", goals: [.atMost(2000)]) {
        let fixture = try Fixture()
        let floor = BareOpenSSL()
        let (challenge, nonce) = (SecureRandom.bytes(16), SecureRandom.bytes(16))
        let blob = ActivationStatusBlob(
            state: .active,
            currentVersion: ActivationStatusBlob.version3,
            counterByte: 1,
            failedAttempts: 0,
            maxFailedAttempts: 5,
            lookAhead: 20,
            counterHash: SecureRandom.bytes(16)
        )
        let transportKey = fixture.keys.transport
        let encrypted = try blob.encrypted(transportKey: transportKey, challenge: challenge, nonce: nonce)
        return Scenario(
            Subject {
                try ActivationStatusBlob(
                    decrypting: encrypted,
                    transportKey: transportKey,
                    challenge: challenge,
                    nonce: nonce
                )
            },
            baselines: [
                Subject("OpenSSL") {
                    floor.aes(16, isEncryption: true)
                    floor.hmacs(1, of: 32)
                    floor.aes(32, isEncryption: false)
                }
            ]
        )
    },

    Benchmark("verify.server", "a signature of the server, by a key that is kept", goals: [.atMost(50_000)]) {
        let fixture = try Fixture()
        let floor = BareOpenSSL()
        let signature = try fixture.serverKey.derSignature(for: fixture.body)
        return Scenario(
            Subject { fixture.serverKey.publicKey.isValid(derSignature: signature, for: fixture.body) },
            baselines: [Subject("OpenSSL") { floor.verify() }]
        )
    },

    Benchmark("activationcode.validate", "form and checksum of an activation code", goals: [.atMost(150)]) {
        Scenario(Subject { ActivationCode.isValid("W65WE-3T7VI-7FBS2-A4OYA") })
    },
]

private func signing(_ name: String, _ type: SignatureType, atMost limit: Double) -> Benchmark {
    Benchmark(name, "a signature of 256 bytes with a fresh nonce, as header text", goals: [.atMost(limit)]) {
        let fixture = try Fixture()
        let floor = BareOpenSSL()
        let keys = fixture.keys.keys(for: type)
        return Scenario(
            Subject { fixture.header(type, keys: keys) },
            baselines: [Subject("OpenSSL") { floor.bareSignature(factors: keys.count) }]
        )
    }
}

/// The client's half: a fresh key, the request encrypted, the answer decrypted.
private func encryption(_ name: String, isActivationScope: Bool) -> Benchmark {
    Benchmark(name, "256 bytes encrypted with a fresh key, and the answer decrypted", goals: [.atMost(65_000)]) {
        let fixture = try Fixture()
        let floor = BareOpenSSL()
        let parameters = ECIESParameters(
            version: .v3_3,
            applicationKey: Fixture.applicationKey,
            applicationSecret: fixture.applicationSecret,
            scope: isActivationScope
                ? .activation(id: Fixture.activationID, transportKey: fixture.keys.transport) : .application,
            purpose: isActivationScope ? .tokenCreate : .activation,
            temporaryKeyID: Fixture.activationID
        )
        // An answer fits the request of one key only, so that key is used over and over; what a fresh one costs is
        // spent beside it.
        let ephemeralKey = P256PrivateKey.generate()
        let recipient = fixture.serverKey.publicKey
        let timestamp: Int64 = 1_790_000_000_000
        var encryptor = ECIESClientExchange(parameters: parameters, recipient: recipient)
        var decryptor = ECIESServerExchange(parameters: parameters, privateKey: fixture.serverKey)
        let request = try encryptor.encryptRequest(
            fixture.body,
            ephemeralKey: ephemeralKey,
            nonce: fixture.nonce,
            timestamp: timestamp
        )
        _ = try decryptor.decryptRequest(request)
        let response = try decryptor.encryptResponse(fixture.body, nonce: SecureRandom.bytes(16), timestamp: timestamp)
        return Scenario(
            Subject {
                blackHole(P256PrivateKey.generate())
                var encryptor = ECIESClientExchange(parameters: parameters, recipient: recipient)
                blackHole(
                    try encryptor.encryptRequest(
                        fixture.body,
                        ephemeralKey: ephemeralKey,
                        nonce: SecureRandom.bytes(16),
                        timestamp: timestamp
                    )
                )
                return try encryptor.decryptResponse(response)
            },
            baselines: [
                Subject("OpenSSL") {
                    floor.generateKey()
                    floor.random()
                    floor.agree()
                    floor.hash(100)
                    floor.hash(100)
                    for isEncryption in [true, false] {
                        floor.hmacs(1, of: 16)
                        floor.aes(256, isEncryption: isEncryption)
                        floor.hmacs(1, of: 400)
                    }
                }
            ]
        )
    }
}

extension BareOpenSSL {
    /// A nonce, a key derived for each factor, each after the first bound to those before, and each signing.
    fileprivate func bareSignature(factors: Int) {
        self.random()
        self.hmacs(factors + factors * (factors - 1) / 2, of: 16)
        self.hmacs(factors, of: 400)
    }
}

/// One activation, made of random keys.
private struct Fixture: Sendable {
    static let activationID = "f48ae8c3-3e0d-4b0a-8b8d-8a0b8d2b0a11"
    static let applicationKey = "cwMx6hbyX7dbsDdCyGyUFg=="

    let serverKey = P256PrivateKey.generate()
    let keys: ActivationKeys
    let applicationSecret: ApplicationSecret
    let counter = HashCounter(data: SecureRandom.secret(16))
    let nonce = SecureRandom.bytes(16)
    let body = SecureRandom.bytes(256)

    struct Unusable: Error {}

    init() throws {
        self.keys = try ActivationKeys(privateKey: .generate(), publicKey: self.serverKey.publicKey)
        guard let secret = ApplicationSecret(bytes: SecureRandom.secret(16)) else { throw Unusable() }
        self.applicationSecret = secret
    }

    /// The whole text of a signed request's header, with a fresh nonce.
    func header(_ type: SignatureType, keys: [SecretBytes]) -> String {
        let nonce = SecureRandom.bytes(16)
        let data = SignatureData(method: "POST", uriID: "/operation/authorize", nonce: nonce, body: self.body)
        let secret = SigningSecret.online(self.applicationSecret)
        let signature = RequestSignature(data, keys: keys, counter: self.counter, secret: secret)
        return SignatureHeader(
            activationID: Self.activationID,
            applicationKey: Self.applicationKey,
            nonce: nonce,
            type: type,
            signature: signature.onlineBytes,
            version: .v3_3
        ).value
    }
}
