import MobileToken
import PowerAuth

/// The second door takes no name of a user's own, either, and a file that imports both doors names the types of both.
let own: [Bool] = [
    isOwn(of: Optional<Action>.none),
    isOwn(of: Optional<Authentication>.none),
    isOwn(of: Optional<Clock>.none),
    isOwn(of: Optional<JSONValue>.none),
    isOwn(of: Optional<Logger>.none),
    isOwn(of: Optional<Operation>.none),
    isOwn(of: Optional<Person>.none),
    isOwn(of: Optional<Request>.none),
]

let keyTypes: [Any.Type] = [
    DeviceKey.self, DeviceKey.Signature.self, DeviceKey.PublicKeys.self, DeviceKey.PublicKey.self,
    DeviceKey.WebSignatureForm.self, DeviceKey.CertificateRequest.self, DeviceKey.CertificateSubject.self,
    DeviceKey.CertificateSubject.AlternativeName.self, Activation.ApplicationKeyBase.self,
    Activation.VaultUnlockReason.self, Activation.ServerSigningKey.self, Activation.ServerSignatureFormat.self,
    Activation.PasswordChange.self,
]

let activationTypes: [Any.Type] = [
    Activation.TransferCode.self, ActivationResult.RecoveryCodes.self, OIDCAuthorization.self,
]

let endpointTypes: [Any.Type] = [
    PowerAuthEndpoint<PowerAuthEmptyBody, PowerAuthEmptyBody>.self, EndpointAuthentication.self, TokenFactors.self,
    EncryptionScope.self, PowerAuthEmptyBody.self, MobileTokenClient.ServerConfigurationEntry.self,
    MobileTokenClient.ServerConfigurationEntry.Scope.self,
]

let channelTypes: [Any.Type] = [
    (any AuthenticatedChannel).self, DecisionEvidence.self, ChannelResponse.self, RequestAuthentication.self,
]

func decrypt(_ request: consuming EncryptedRequest) throws -> [UInt8] { try request.decrypt([]) }

/// Members of the first door's types that only the second one shows.
func dataKey(of activation: Activation, _ password: SecretBytes) async throws -> SecretBytes {
    let status = try await activation.status()
    guard status.state == .active, status.customObject == nil else { throw MobileTokenError(.oidcRefused, "") }
    return try await activation.deriveDataKey(index: 1, with: .possessionAndKnowledge(password: password))
}

/// An activation that a test scripts.
struct ScriptedActivation: AuthenticatedChannel {
    let activationID = "scripted"

    func post(
        _ path: String,
        body: [UInt8],
        authentication: RequestAuthentication,
        acceptLanguage: String,
        decision: DecisionIntent?
    ) async throws -> ChannelResponse { .success }
}

let service = OperationsService(activation: ScriptedActivation())

private func isOwn<Value: Own>(of none: Value?) -> Bool { Value.isOwn }

protocol Own {}

extension Own { static var isOwn: Bool { true } }

struct Action: Own {}
struct Authentication: Own {}
struct Clock: Own {}
struct JSONValue: Own {}
struct Logger: Own {}
struct Operation: Own {}
struct Person: Own {}
struct Request: Own {}
