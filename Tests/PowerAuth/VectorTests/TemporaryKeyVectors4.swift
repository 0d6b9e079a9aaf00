import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol
import Testing

@Suite(.vectors4("temporary-key"))
struct TemporaryKeyVectors4 {
    struct Claims: Decodable {
        let applicationKey: String
        let activationId: String?
        let challenge: Bytes
        let sharedSecretRequest: JSONValue

        func request() throws -> Version4.TemporaryKeyRequest {
            Version4.TemporaryKeyRequest(
                applicationKey: self.applicationKey,
                activationID: self.activationId,
                challenge: self.challenge.bytes,
                sharedSecretRequest: try decodeJSON(Version4.SharedSecretRequest.self, self.sharedSecretRequest)
            )
        }
    }

    struct ServerKeys: Decodable {
        let ecdsa: Bytes
        let mldsa: Bytes?
    }

    struct Input: Decodable {
        let side: String?
        let algorithm: AlgorithmSuite?
        let applicationSecret: String?
        let activationSecret: Bytes?
        let signer: PrivateKeys?
        let serverPublicKeys: ServerKeys?
        let client: AgreementKeys?
        let claims: Claims?
        let responseJws: String?
        let now: Int64?
        let macKey: Bytes?
        let requestJwt: String?
    }

    struct Output: Decodable {
        let requestJwt: String?
        let macKey: Bytes?
        let keyId: String?
        let expires: Int64?
        let temporarySharedSecret: Bytes?
        let accepted: Bool?
    }

    typealias Case = Vector<Input, Output>

    @Test(arguments: try Case.all(in: "temporary-key", postQuantum: false))
    func requestsAndResponses(_ vector: Case) throws { try self.check(vector) }

    @Test(.postQuantum, arguments: try Case.all(in: "temporary-key", postQuantum: true))
    func requestsAndResponsesInHybridSuites(_ vector: Case) throws { try self.check(vector) }

    private func check(_ vector: Case) throws {
        if vector.input.side == "server" { return try self.refuses(vector) }
        guard vector.output.requestJwt != nil else {
            let open = { try self.response(vector.input) }
            if vector.output.accepted == true {
                _ = try open()
            } else {
                #expect(throws: TemporaryKeyError.self) { try open() }
            }
            return
        }
        try self.accepts(vector)
    }

    private func refuses(_ vector: Case) throws {
        let key = try #require(vector.input.macKey).secret
        let jwt = try #require(vector.input.requestJwt)
        #expect(vector.output.accepted == false)
        #expect(throws: TemporaryKeyError.self) {
            try Version4.TemporaryKeyRequest.Unverified(jwt: jwt).verified(key: key)
        }
    }

    /// Both sides make and accept what the case has.
    private func accepts(_ vector: Case) throws {
        let (input, output) = (vector.input, vector.output)
        let suite = try #require(input.algorithm)
        let key = try #require(output.macKey).secret
        let applicationSecret = try #require(input.applicationSecret.flatMap(ApplicationSecret.init(base64:)))
        let derivedKey =
            if let secret = input.activationSecret {
                try Version4.ActivationKeys(activationSecret: secret.secret).utility.temporaryKeyRequest
            } else {
                try Version4.KeyDerivation.temporaryKeyRequestKey(applicationSecret: applicationSecret)
            }
        #expect(derivedKey == key)

        let request = try #require(input.claims).request()
        let unverified = try Version4.TemporaryKeyRequest.Unverified(jwt: try #require(output.requestJwt))
        #expect(unverified.applicationKey == request.applicationKey)
        #expect(unverified.activationID == request.activationID)
        #expect(try unverified.verified(key: key) == request)
        let made = request.jwt(key: key)
        #expect(try Version4.TemporaryKeyRequest.Unverified(jwt: made).verified(key: key) == request)

        let response = try self.response(input)
        #expect(response.keyID == output.keyId)
        #expect(response.expiresAt == output.expires)
        let agreement = try #require(input.client).agreement(suite)
        #expect(agreement.request == request.sharedSecretRequest)
        #expect(try agreement.secret(from: response.key) == output.temporarySharedSecret?.secret)

        let signer = try #require(input.signer).keys(suite)
        let received = try Version4.TemporaryKeyResponse(
            jws: response.jws(signedBy: signer, answering: request),
            signedBy: signer.publicKeys,
            answering: request,
            now: try #require(input.now)
        )
        #expect(received == response)
    }

    private func response(_ input: Input) throws -> Version4.TemporaryKeyResponse {
        let keys = try #require(input.serverPublicKeys)
        return try Version4.TemporaryKeyResponse(
            jws: try #require(input.responseJws),
            signedBy: try Version4.SigningPublicKeys(
                suite: try #require(input.algorithm),
                ecdsa: keys.ecdsa.bytes,
                mldsa: keys.mldsa?.bytes
            ),
            answering: try #require(input.claims).request(),
            now: try #require(input.now)
        )
    }
}
