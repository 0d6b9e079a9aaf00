import APIDescriptions
import EmulatorMessages
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

extension Version4 {
    /// The calls that require only an application's key.
    enum ServerEndpoints {
        static let routes: [Backend.Route] = [
            .device(
                "POST \(Endpoint.serverStatus.path)",
                "Tells the server's time, its name and its suites.",
                takes: .required(.serverStatusRequest),
                gives: .serverStatusResponse,
                Self.status
            ),
            .device(
                "POST \(Endpoint.temporaryKey.path)",
                "Agrees on a temporary key.",
                takes: .required(.tokenRequest),
                gives: .tokenResponse,
                Self.createTemporaryKey
            ),
        ]

        static func status(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
            var content = bank.serverStatus(at: context.now)
            guard !context.request.body.isEmpty else { throw .serverStatus("the body is missing") }
            if let key = try context.json().optionalObject("requestObject")?.optionalString("applicationKey") {
                guard bank.application(ofKey: key) != nil else {
                    throw .serverStatus(bank.objection(toApplicationKey: key))
                }
                content["supportedAlgorithms"] = .strings(bank.protocolRules.offeredSuites.map(\.rawValue))
            }
            return .object(.object(content))
        }

        static func createTemporaryKey(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal)
            -> ServerResponse
        {
            guard let jwt = try context.optionalRequestObject()?.optionalString("jwt") else {
                throw .temporaryKey("'jwt' is missing")
            }
            do {
                let unverified = try TemporaryKeyRequest.Unverified(jwt: jwt)
                let signer = try Self.signer(bank, for: unverified, &context)
                let request = try unverified.verified(key: signer.requestKey)
                let suite = request.sharedSecretRequest.suite
                // An activation's suite is permanent, and valid even if it is no longer offered.
                guard signer.activationKeys.map({ $0.suite == suite }) ?? bank.protocolRules.acceptsSuite(suite) else {
                    throw Refusal.temporaryKey("the suite \(suite.rawValue) is not accepted")
                }
                let jws = try Self.agree(&bank, on: request, signer, at: context.now)
                return .object(["jwt": .string(jws)])
            } catch let refusal as Refusal {
                throw refusal
            } catch {
                throw .temporaryKey("the request for a temporary key is refused: \(error)")
            }
        }

        /// The response's signer, and the key that must sign the request.
        private struct Signer {
            let application: ServerApplication
            /// The activation's keys; `nil` in application scope.
            let activationKeys: Keys?
            let requestKey: SecretBytes
        }

        /// Returns the signer for a request. Naming an activation selects its scope.
        private static func signer(
            _ bank: Backend,
            for request: TemporaryKeyRequest.Unverified,
            _ context: inout RequestContext
        ) throws -> Signer {
            guard let application = bank.application(ofKey: request.applicationKey) else {
                throw Refusal.temporaryKey(bank.objection(toApplicationKey: request.applicationKey))
            }
            guard let id = request.activationID else {
                let key = try KeyDerivation.temporaryKeyRequestKey(applicationSecret: application.secret)
                return Signer(application: application, activationKeys: nil, requestKey: key)
            }
            context.activationID = id
            guard let activation = bank.state.activations[id], activation.applicationID == application.id else {
                throw Refusal.temporaryKey("there is no such activation")
            }
            guard let keys = activation.device?.version4 else {
                throw Refusal.temporaryKey("the activation has no keys of version 4")
            }
            let key = keys.derived.utility.temporaryKeyRequest
            return Signer(application: application, activationKeys: keys, requestKey: key)
        }

        private static func agree(
            _ bank: inout Backend,
            on request: TemporaryKeyRequest,
            _ signer: Signer,
            at now: Milliseconds
        ) throws -> String {
            let suite = request.sharedSecretRequest.suite
            let signingKeys = try signer.activationKeys?.serverKeys ?? signer.application.version4Keys.keys(of: suite)
            var randomness = bank.state.randomness
            let id = randomness.identifier()
            let agreement = try request.sharedSecretRequest.agree(using: &randomness)
            let key = ServerTemporaryKey(
                id: id,
                material: .version4(agreement.secret),
                applicationKey: signer.application.key,
                activationID: request.activationID,
                expires: now + bank.limits.temporaryKeyLifetime.inMilliseconds
            )
            let response = TemporaryKeyResponse(
                keyID: id,
                key: agreement.response,
                issuedAt: now,
                expiresAt: key.expires
            )
            let jws = try response.jws(signedBy: signingKeys, answering: request)
            bank.state.randomness = randomness
            bank.keep(key, at: now)
            return jws
        }
    }
}

extension Version4.SharedSecretRequest {
    /// Agrees on a secret with the client.
    func agree(
        using randomness: inout SeededRandomness
    ) throws -> (response: Version4.SharedSecretResponse, secret: SecretBytes) {
        let ephemeralKey = try randomness.p384PrivateKey()
        return try self.agree(
            ephemeralKey: ephemeralKey,
            salt: randomness.bytes(Version4.SharedSecretResponse.saltByteCount)
        )
    }
}

extension SeededRandomness {
    mutating func p384PrivateKey() throws(CryptoError) -> P384PrivateKey {
        // All but one number in 2¹⁹⁰ is a key, so a sequence that never gives one is broken.
        for _ in 0..<16 {
            if let key = try? P384PrivateKey(scalar: self.secret(P384.curve.coordinateByteCount)) { return key }
        }
        throw CryptoError(.invalidPrivateKey)
    }
}
