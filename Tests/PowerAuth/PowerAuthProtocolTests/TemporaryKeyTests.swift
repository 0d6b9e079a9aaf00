import MobileTokenTesting
import PowerAuthCrypto
import Testing

@Suite(.timeLimit(.minutes(5)))
struct TemporaryKeyTests {
    private static let now: Int64 = 1_700_000_000_000

    @Test(arguments: [true, false])
    func anyBitFlippedInARequestIsRefused(hasActivation: Bool) throws {
        var generator = SeededGenerator()
        let secret = try generator.applicationSecret()
        let transportKey = hasActivation ? generator.secret(16) : nil
        let request = TemporaryKeyRequest(
            applicationKey: Base64.encode(generator.bytes(16)),
            activationID: hasActivation ? generator.uuid() : nil,
            challenge: generator.bytes(TemporaryKeyRequest.challengeByteCount)
        )
        let jwt = request.jwt(applicationSecret: secret, transportKey: transportKey)
        let verify = { (jwt: String) throws(TemporaryKeyError) in
            try TemporaryKeyRequest.Unverified(jwt: jwt).verified(applicationSecret: secret, transportKey: transportKey)
        }
        #expect(try verify(jwt) == request, "\(generator)")
        for changed in Array(jwt.utf8).withOneBitFlipped {
            let text = String(decoding: changed, as: UTF8.self)
            #expect(throws: TemporaryKeyError.self, "\(generator)") { try verify(text) }
        }
    }

    @Test(arguments: [true, false])
    func anyBitFlippedInAnAnswerIsRefused(hasActivation: Bool) throws {
        var generator = SeededGenerator()
        let request = TemporaryKeyRequest(
            applicationKey: Base64.encode(generator.bytes(16)),
            activationID: hasActivation ? generator.uuid() : nil,
            challenge: generator.bytes(18)
        )
        let signer = try generator.privateKey()
        let answer = TemporaryKeyResponse(
            keyID: generator.uuid(),
            key: try generator.privateKey().publicKey,
            issuedAt: Self.now,
            expiresAt: Self.now + 300_000
        )
        let jwt = try answer.jwt(signedBy: signer, answering: request)
        let open = { (jwt: String, now: Int64) throws(TemporaryKeyError) in
            try TemporaryKeyResponse(jwt: jwt, signedBy: signer.publicKey, answering: request, now: now)
        }
        #expect(try open(jwt, Self.now) == answer, "\(generator)")
        #expect(try open(jwt, Self.now + 299_999) == answer, "\(generator)")
        #expect(throws: TemporaryKeyError.expired) { try open(jwt, Self.now + 300_000) }
        for changed in Array(jwt.utf8).withOneBitFlipped {
            let text = String(decoding: changed, as: UTF8.self)
            #expect(throws: TemporaryKeyError.self, "\(generator)") { try open(text, Self.now) }
        }
    }

    @Test func anAnswerToAnotherRequestIsRefused() throws {
        var generator = SeededGenerator()
        let request = TemporaryKeyRequest(applicationKey: "key", activationID: nil, challenge: [1])
        let signer = try generator.privateKey()
        let answer = TemporaryKeyResponse(keyID: "id", key: signer.publicKey, issuedAt: 1, expiresAt: 2)
        let jwt = try answer.jwt(signedBy: signer, answering: request)
        let others: [(TemporaryKeyRequest, TemporaryKeyError)] = [
            (TemporaryKeyRequest(applicationKey: "other", activationID: nil, challenge: [1]), .wrongApplicationKey),
            (TemporaryKeyRequest(applicationKey: "key", activationID: "id", challenge: [1]), .wrongActivationID),
            (TemporaryKeyRequest(applicationKey: "key", activationID: nil, challenge: [2]), .wrongChallenge),
        ]
        for (other, error) in others {
            #expect(throws: error) {
                try TemporaryKeyResponse(jwt: jwt, signedBy: signer.publicKey, answering: other, now: 0)
            }
        }
        let stranger = try generator.privateKey().publicKey
        #expect(throws: TemporaryKeyError.invalidSignature) {
            try TemporaryKeyResponse(jwt: jwt, signedBy: stranger, answering: request, now: 0)
        }
    }

    /// A request signed with the public key as if it were an HMAC key, and a token that says it needs no signature.
    @Test(arguments: [
        #"{"alg":"none"}"#, #"{"alg":"HS256"}"#, #"{"alg":"es256"}"#, #"{"alg":"ES384"}"#,
        #"{"alg":"ES256","crit":["exp"]}"#,
    ])
    func onlyTheExpectedAlgorithmIsAccepted(header: String) throws {
        let key = P256PrivateKey.generate()
        let claims = #"{"sub":"id","applicationKey":"key","challenge":"AQ==","publicKey":"AA==","iat":1,"exp":2}"#
        let input = "\(Base64URL.encode(Array(header.utf8))).\(Base64URL.encode(Array(claims.utf8)))"
        let publicKey = SecretBytes(copying: key.publicKey.uncompressed)
        let signatures = [
            try key.rawSignature(for: Array(input.utf8)), HMACSHA256.authenticate(Array(input.utf8), key: publicKey),
        ]
        let request = TemporaryKeyRequest(applicationKey: "key", activationID: nil, challenge: [1])
        for signature in signatures {
            #expect(throws: TemporaryKeyError.wrongAlgorithm) {
                try TemporaryKeyResponse(
                    jwt: "\(input).\(Base64URL.encode(signature))",
                    signedBy: key.publicKey,
                    answering: request,
                    now: 0
                )
            }
        }
    }

    @Test(arguments: [
        "", ".", "..", "a.b.c", "e30.e30.", "e30..AA", ".e30.AA", "e30.e30.AA.AA", "e30=.e30.AA", "W10.e30.AA",
    ])
    func whatIsNoTokenIsMalformed(jwt: String) {
        #expect(throws: TemporaryKeyError.malformed) { try TemporaryKeyRequest.Unverified(jwt: jwt) }
    }
}
