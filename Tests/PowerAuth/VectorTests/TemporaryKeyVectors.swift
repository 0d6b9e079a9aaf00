import Foundation
import PowerAuthCrypto
import PowerAuthProtocol
import Testing

@Suite(.enabled(if: VectorFile.exists("temporary-key-jwt")))
struct TemporaryKeyVectors {
    struct Request: Decodable {
        let scope: String
        let applicationKey: String
        let applicationSecret: String
        let activationId: String?
        let transportKey: Bytes?
        let challenge: String
        let jwt: String
    }

    struct Verified: Decodable {
        let valid: Bool
        let signingKey: Bytes
        let signingInput: String
        let signature: Bytes
        let header: [String: String]
        let claims: Claims
    }

    struct Claims: Decodable {
        let applicationKey: String?
        let activationId: String?
        let challenge: String?
    }

    @Test(arguments: try Vector<Request, Verified>.all(in: "temporary-key-jwt", operation: "request"))
    func theServerVerifiesRequests(_ vector: Vector<Request, Verified>) throws {
        let (input, output) = (vector.input, vector.output)
        let secret = try #require(ApplicationSecret(base64: input.applicationSecret))
        let transportKey = input.transportKey?.secret
        let signingKey = TemporaryKeyRequest.signingKey(applicationSecret: secret, transportKey: transportKey)
        #expect(signingKey == output.signingKey.secret)

        let token = try #require(JSONWebToken(input.jwt))
        #expect(token.signingInput == Array(output.signingInput.utf8))
        #expect(token.signature == output.signature.bytes)
        #expect(token.algorithm?.rawValue == output.header["alg"])

        let unverified = try TemporaryKeyRequest.Unverified(jwt: input.jwt)
        #expect(unverified.applicationKey == output.claims.applicationKey)
        #expect(unverified.activationID == output.claims.activationId)
        guard output.valid else {
            #expect(throws: TemporaryKeyError.invalidSignature) {
                try unverified.verified(applicationSecret: secret, transportKey: transportKey)
            }
            return
        }
        let request = try unverified.verified(applicationSecret: secret, transportKey: transportKey)
        #expect(request.applicationKey == input.applicationKey)
        #expect(request.activationID == input.activationId)
        #expect(request.challenge == input.challenge)
        #expect(HMACSHA256.authenticate(token.signingInput, key: output.signingKey.secret) == token.signature)
    }

    @Test(arguments: try Vector<Request, Verified>.all(in: "temporary-key-jwt", operation: "request"))
    func theClientMakesWhatTheServerVerifies(_ vector: Vector<Request, Verified>) throws {
        let (input, output) = (vector.input, vector.output)
        guard output.valid else { return }
        let secret = try #require(ApplicationSecret(base64: input.applicationSecret))
        let challenge = [UInt8](try #require(Data(base64Encoded: input.challenge)))
        let request = TemporaryKeyRequest(
            applicationKey: input.applicationKey,
            activationID: input.activationId,
            challenge: challenge
        )
        #expect(request.challenge == input.challenge)
        let jwt = request.jwt(applicationSecret: secret, transportKey: input.transportKey?.secret)
        let received = try TemporaryKeyRequest.Unverified(jwt: jwt)
            .verified(applicationSecret: secret, transportKey: input.transportKey?.secret)
        #expect(received == request)
    }

    struct Response: Decodable {
        let scope: String
        let signerPrivateKey: Bytes
        let signerPublicKeyCompressed: Bytes
        let signerPublicKeyUncompressed: Bytes
        let expectedApplicationKey: String
        let expectedActivationId: String?
        let expectedChallenge: String
        let nowMs: Int64
        let temporaryPrivateKey: Bytes?
        let jwt: String

        func request() throws -> TemporaryKeyRequest {
            TemporaryKeyRequest(
                applicationKey: self.expectedApplicationKey,
                activationID: self.expectedActivationId,
                challenge: [UInt8](try #require(Data(base64Encoded: self.expectedChallenge)))
            )
        }
    }

    struct Judgement: Decodable {
        let signatureValid: Bool
        let algorithmValid: Bool
        let applicationKeyMatches: Bool
        let activationIdMatches: Bool
        let challengeMatches: Bool
        let expired: Bool
        let publicKeyValid: Bool
        let accepted: Bool
        let temporaryKeyId: String
        let publicKey: Bytes
    }

    @Test(arguments: try Vector<Response, Judgement>.all(in: "temporary-key-jwt", operation: "response"))
    func theClientJudgesAnswers(_ vector: Vector<Response, Judgement>) throws {
        let (input, output) = (vector.input, vector.output)
        let signer = try input.signerPublicKeyUncompressed.publicKey
        #expect(signer == (try input.signerPublicKeyCompressed.publicKey))
        let open = {
            try TemporaryKeyResponse(
                jwt: input.jwt,
                signedBy: signer,
                answering: try input.request(),
                now: input.nowMs
            )
        }
        guard output.accepted else {
            let error = #expect(throws: TemporaryKeyError.self, performing: open)
            // Checked in this order; the first that fails is the reason.
            let reasons: [(Bool, TemporaryKeyError)] = [
                (output.algorithmValid, .wrongAlgorithm),
                (output.signatureValid, .invalidSignature),
                (output.applicationKeyMatches, .wrongApplicationKey),
                (output.activationIdMatches, .wrongActivationID),
                (output.challengeMatches, .wrongChallenge),
                (!output.expired, .expired),
                (output.publicKeyValid, .invalidPublicKey),
            ]
            // A string without a third part is no token at all, so there is no algorithm or signature to check.
            let isToken = JSONWebToken(input.jwt) != nil
            #expect(isToken || !output.signatureValid)
            #expect(error == (isToken ? reasons.first { !$0.0 }?.1 : .malformed))
            return
        }
        let answer = try open()
        #expect(answer.keyID == output.temporaryKeyId)
        #expect(answer.key == (try output.publicKey.publicKey))
        #expect(answer.key == (try input.temporaryPrivateKey?.privateKey.publicKey))
        #expect(answer.expiresAt > input.nowMs)
    }

    @Test(arguments: try Vector<Response, Judgement>.all(in: "temporary-key-jwt", operation: "response"))
    func theServerMakesWhatTheClientAccepts(_ vector: Vector<Response, Judgement>) throws {
        let input = vector.input
        guard let temporaryKey = try input.temporaryPrivateKey?.privateKey.publicKey else { return }
        let answer = TemporaryKeyResponse(
            keyID: vector.output.temporaryKeyId,
            key: temporaryKey,
            issuedAt: input.nowMs - 1,
            expiresAt: input.nowMs + 1
        )
        let signer = try input.signerPrivateKey.privateKey
        let request = try input.request()
        let jwt = try answer.jwt(signedBy: signer, answering: request)
        let received = try TemporaryKeyResponse(
            jwt: jwt,
            signedBy: signer.publicKey,
            answering: request,
            now: input.nowMs
        )
        #expect(received == answer)
    }
}
