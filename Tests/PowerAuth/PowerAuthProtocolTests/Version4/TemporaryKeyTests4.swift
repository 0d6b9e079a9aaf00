import MobileTokenTesting
import PowerAuthCrypto
import Testing

@Suite(.timeLimit(.minutes(5)))
struct TemporaryKeyTests4 {
    private static let now: Int64 = 1_770_000_000_000

    private func request(
        _ suite: AlgorithmSuite = .p384,
        hasActivation: Bool = false,
        _ generator: inout SeededGenerator
    ) throws -> Version4.TemporaryKeyRequest {
        Version4.TemporaryKeyRequest(
            applicationKey: Base64.encode(generator.bytes(16)),
            activationID: hasActivation ? generator.uuid() : nil,
            challenge: generator.bytes(Version4.TemporaryKeyRequest.challengeByteCount),
            sharedSecretRequest: try generator.agreement(suite).request
        )
    }

    private func response(
        to request: Version4.TemporaryKeyRequest,
        _ generator: inout SeededGenerator
    ) throws -> Version4.TemporaryKeyResponse {
        let made = try request.sharedSecretRequest.agree(
            ephemeralKey: generator.p384PrivateKey(),
            salt: generator.bytes(32)
        )
        return Version4.TemporaryKeyResponse(
            keyID: generator.uuid(),
            key: made.response,
            issuedAt: Self.now,
            expiresAt: Self.now + 300_000
        )
    }

    @Test(arguments: [true, false])
    func anyBitFlippedInARequestIsRefused(hasActivation: Bool) throws {
        var generator = SeededGenerator()
        let key = generator.secret(32)
        let request = try self.request(hasActivation: hasActivation, &generator)
        let jwt = request.jwt(key: key)
        let verify = { (jwt: String) throws(TemporaryKeyError) in
            try Version4.TemporaryKeyRequest.Unverified(jwt: jwt).verified(key: key)
        }
        #expect(try verify(jwt) == request, "\(generator)")
        for changed in Array(jwt.utf8).withOneBitFlipped {
            let text = String(decoding: changed, as: UTF8.self)
            #expect(throws: TemporaryKeyError.self, "\(generator)") { try verify(text) }
        }
    }

    @Test func anyBitFlippedInAResponseIsRefused() throws {
        for suite in AlgorithmSuite.available {
            var generator = SeededGenerator()
            let request = try self.request(suite, hasActivation: true, &generator)
            let response = try self.response(to: request, &generator)
            let keys = try generator.signingKeys(suite)
            let jws = try response.jws(signedBy: keys, answering: request)
            let open = { (jws: String, now: Int64) throws(TemporaryKeyError) in
                try Version4.TemporaryKeyResponse(jws: jws, signedBy: keys.publicKeys, answering: request, now: now)
            }
            #expect(try open(jws, Self.now) == response, "\(generator)")
            #expect(try open(jws, Self.now + 299_999) == response, "\(generator)")
            #expect(throws: TemporaryKeyError.expired) { try open(jws, Self.now + 300_000) }
            let bytes = Array(jws.utf8)
            let seed = "\(generator)"
            func expectRefusal(of changes: some Sequence<[UInt8]>) {
                for changed in changes {
                    let string = String(decoding: changed, as: UTF8.self)
                    #expect(throws: TemporaryKeyError.self, "\(seed)") { try open(string, Self.now) }
                }
            }
            if suite == .p384 {
                expectRefusal(of: bytes.withOneBitFlipped)
            } else {
                // Every byte of a signature and of a ciphertext has its turn in `CryptoTests4`.
                expectRefusal(of: generator.oneBitFlipped(in: bytes, every: 4))
            }
        }
    }

    @Test func aResponseToAnotherRequestIsRefused() throws {
        var generator = SeededGenerator()
        let agreed = try generator.agreement(.p384).request
        let request = { (key: String, id: String?, challenge: [UInt8]) in
            Version4.TemporaryKeyRequest(
                applicationKey: key,
                activationID: id,
                challenge: challenge,
                sharedSecretRequest: agreed
            )
        }
        let asked = request("key", nil, [1])
        let keys = try generator.signingKeys(.p384)
        let jws = try self.response(to: asked, &generator).jws(signedBy: keys, answering: asked)
        let others: [(Version4.TemporaryKeyRequest, TemporaryKeyError)] = [
            (request("other", nil, [1]), .wrongApplicationKey), (request("key", "id", [1]), .wrongActivationID),
            (request("key", nil, [2]), .wrongChallenge),
        ]
        for (other, error) in others {
            #expect(throws: error) {
                try Version4.TemporaryKeyResponse(jws: jws, signedBy: keys.publicKeys, answering: other, now: 0)
            }
        }
        let stranger = try generator.signingKeys(.p384).publicKeys
        #expect(throws: TemporaryKeyError.invalidSignature) {
            try Version4.TemporaryKeyResponse(jws: jws, signedBy: stranger, answering: asked, now: 0)
        }
    }

    @Test(.postQuantum)
    func signaturesOfAnotherSuiteAreRefused() throws {
        var generator = SeededGenerator()
        for suite in AlgorithmSuite.allCases {
            let keys = try generator.signingKeys(suite)
            let signed = try JSONWebSignature.sign([1], with: keys)
            let signature = try #require(JSONWebSignature(signed))
            #expect(throws: Never.self) { try signature.verify(signedBy: keys.publicKeys) }
            for other in AlgorithmSuite.allCases where other != suite {
                let otherKeys = try generator.signingKeys(other).publicKeys
                #expect(throws: JSONWebSignature.Refusal.wrongAlgorithms) { try signature.verify(signedBy: otherKeys) }
            }
        }
    }

    @Test(arguments: [
        "", "{}", "[]", "null", #"{"payload":"","signatures":[]}"#, #"{"payload":"AA"}"#,
        #"{"payload":"AA","signatures":{}}"#, #"{"payload":"AA","signatures":[1]}"#,
        #"{"payload":"AA==","signatures":[]}"#, #"{"payload":"AA","payload":"AA","signatures":[]}"#,
        #"{"payload":"AA","signatures":[{"protected":"e30","signature":"AA"}]}"#,
        #"{"payload":"AA","signatures":[{"protected":"eyJhbGciOiJFUzM4NCJ9"}]}"#,
        #"{"payload":"AA","signatures":[{"signature":"AA"}]}"#, "e30.e30.AA",
    ])
    func whatIsNoSignatureIsMalformed(jws: String) {
        #expect(JSONWebSignature(jws) == nil)
    }

    /// Headers that are read but promise something else: an extension, another name.
    @Test(arguments: [
        #"{"alg":"ES384","crit":["exp"],"exp":1}"#, #"{"alg":"es384"}"#, #"{"alg":"none"}"#, #"{"alg":"HS384"}"#,
        #"{"alg":"ML-DSA-44"}"#,
    ])
    func onlyTheAlgorithmsOfTheSuiteAreAccepted(header: String) throws {
        var generator = SeededGenerator()
        let keys = try generator.signingKeys(.p384)
        let input = "\(Base64URL.encode(Array(header.utf8))).AQ"
        let signature = Base64URL.encode(try keys.ecdsa.rawSignature(for: Array(input.utf8)))
        let jws = #"{"payload":"AQ","signatures":[{"protected":"\#(input.dropLast(3))","signature":"\#(signature)"}]}"#
        let signed = try #require(JSONWebSignature(jws))
        #expect(throws: JSONWebSignature.Refusal.wrongAlgorithms) { try signed.verify(signedBy: keys.publicKeys) }
    }

    @Test(arguments: ["", ".", "..", "a.b.c", "e30.e30.", "e30..AA", "e30.e30.AA.AA", "e30=.e30.AA"])
    func whatIsNoTokenIsMalformed(jwt: String) {
        #expect(throws: TemporaryKeyError.malformed) {
            try Version4.TemporaryKeyRequest.Unverified(jwt: jwt)
        }
    }
}
