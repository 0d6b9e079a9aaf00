import APIDescriptions
import EmulatorMessages
import ExactJSON
import MobileTokenCloud
import PowerAuthCrypto
import PowerAuthProtocol

extension Version3 {
    /// The calls that require only an application's key.
    enum ServerEndpoints {
        static let routes: [Backend.Route] = [
            .device(
                "POST /pa/v3/status",
                "Tells the server's time and name.",
                takes: .ignored,
                gives: .serverStatusResponse,
                Self.status
            ),
            .device(
                "POST /pa/v3/keystore/create",
                "Creates a temporary key.",
                takes: .required(.tokenRequest),
                gives: .tokenResponse,
                Self.createTemporaryKey
            ),
        ]

        static func status(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
            .object(.object(bank.serverStatus(at: context.now)))
        }

        static func createTemporaryKey(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal)
            -> ServerResponse
        {
            guard let token = try context.optionalRequestObject()?.optionalString("jwt") else {
                throw .temporaryKey("'jwt' is missing")
            }
            guard bank.accepts(.version3) else {
                throw .temporaryKey("the server no longer accepts version 3")
            }
            do {
                let asked = try TemporaryKeyRequest.Unverified(jwt: token)
                guard let application = bank.application(ofKey: asked.applicationKey) else {
                    throw Refusal.temporaryKey(bank.objection(toApplicationKey: asked.applicationKey))
                }
                let device = try Self.keys(bank, asking: asked, application, &context)
                let request = try asked.verified(
                    applicationSecret: application.secret,
                    transportKey: device?.derived.transport
                )
                var randomness = bank.state.randomness
                let id = randomness.identifier()
                let privateKey = try randomness.privateKey()
                let key = ServerTemporaryKey(
                    id: id,
                    material: .version3(privateKey),
                    applicationKey: application.key,
                    activationID: request.activationID,
                    expires: context.now + bank.limits.temporaryKeyLifetime.inMilliseconds
                )
                let response = TemporaryKeyResponse(
                    keyID: key.id,
                    key: privateKey.publicKey,
                    issuedAt: context.now,
                    expiresAt: key.expires
                )
                let jwt = try response.jwt(signedBy: device?.serverKey ?? application.masterKey, answering: request)
                bank.state.randomness = randomness
                bank.keep(key, at: context.now)
                return .object(["jwt": .string(jwt)])
            } catch let refusal as Refusal {
                throw refusal
            } catch let error as TemporaryKeyError {
                throw .temporaryKey("the request for a temporary key is refused: \(error)")
            } catch {
                throw .temporaryKey("the key cannot be made")
            }
        }

        /// Returns the requesting activation's keys; nil in application scope.
        private static func keys(
            _ bank: Backend,
            asking request: TemporaryKeyRequest.Unverified,
            _ application: ServerApplication,
            _ context: inout RequestContext
        ) throws(Refusal) -> Keys? {
            guard let id = request.activationID else { return nil }
            context.activationID = id
            guard let activation = bank.state.activations[id], activation.applicationID == application.id,
                let keys = activation.device?.version3
            else { throw .temporaryKey("there is no such activation") }
            guard activation.status == .active || activation.status == .blocked else {
                throw .temporaryKey("the activation is \(activation.status.rawValue)")
            }
            return keys
        }
    }
}

extension Backend {
    /// Returns the server's status in both versions, which needs no activation.
    func serverStatus(at now: Milliseconds) -> JSONObject {
        [
            "serverTime": .number(JSONNumber(now)),
            "application": ["name": .string(self.applicationName), "version": .string(self.profile.release.version)],
        ]
    }
}
