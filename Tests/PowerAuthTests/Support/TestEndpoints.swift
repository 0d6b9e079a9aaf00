@testable import EmulatorBackend
import EmulatorMessages
import ExactJSON
import PowerAuthProtocol

extension Set<SignatureType> {
    fileprivate static let anyFactors = Self.onlineFactors.union([.possessionKnowledgeBiometry])
}

/// Endpoints of an application, one of each kind.
enum TestEndpoints {
    static let routes: [Backend.Route] = [
        .device("POST", "/api/signed", "Takes a signature.", Self.signed),
        .device("POST", "/api/refused", "Takes a signature and refuses nevertheless.", Self.refused),
        .device("POST", "/api/token", "Takes a token.", Self.token),
        .device("POST", "/api/sealed", "Takes a signature over an envelope.", Self.sealed),
        .device("POST", "/api/encrypted/application", "Takes an envelope.", Self.applicationEnvelope),
        .device("POST", "/api/encrypted/activation", "Takes an activation's envelope.", Self.activationEnvelope),
        .device("POST", "/api/encrypted/token", "Takes a token and an envelope.", Self.tokenAndEnvelope),
    ]

    private static func signed(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse
    {
        _ = try bank.authenticate(&context, CodeDemand(uriID: "/signed", types: .anyFactors))
        return .object(["done": true])
    }

    private static func refused(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal)
        -> ServerResponse
    {
        _ = try bank.authenticate(&context, CodeDemand(uriID: "/refused", types: .anyFactors))
        throw Refusal(401, "POWERAUTH_AUTH_FAIL", "refused")
    }

    private static func token(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse
    {
        _ = try bank.authenticateToken(&context, dialect: .powerAuth)
        return .object(["done": true])
    }

    private static func sealed(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse
    {
        let (_, envelope) = try bank.authenticateEncrypted(
            &context,
            purpose: .genericActivation,
            uriID: "/sealed",
            allowing: .anyFactors
        )
        return try Self.echo(envelope, &bank, &context)
    }

    private static func applicationEnvelope(
        _ bank: inout Backend,
        _ context: inout RequestContext
    ) throws(Refusal) -> ServerResponse {
        let envelope = try bank.openEncrypted(&context, scope: .application, purpose: .genericApplication)
        bank.remember(envelope, at: context.now)
        return try Self.echo(envelope, &bank, &context)
    }

    private static func activationEnvelope(
        _ bank: inout Backend,
        _ context: inout RequestContext
    ) throws(Refusal) -> ServerResponse {
        let envelope = try bank.openEncrypted(&context, scope: .activation, purpose: .genericActivation)
        bank.remember(envelope, at: context.now)
        return try Self.echo(envelope, &bank, &context)
    }

    private static func tokenAndEnvelope(
        _ bank: inout Backend,
        _ context: inout RequestContext
    ) throws(Refusal) -> ServerResponse {
        _ = try bank.authenticateToken(&context, dialect: .powerAuth)
        return try Self.activationEnvelope(&bank, &context)
    }

    private static func echo(
        _ envelope: Version3.OpenedEnvelope,
        _ bank: inout Backend,
        _ context: inout RequestContext
    ) throws(Refusal) -> ServerResponse {
        let sent = try envelope.json()["requestObject"] ?? .null
        let response: JSONValue = ["status": "OK", "responseObject": ["echo": sent]]
        return .json(try bank.seal(response, in: envelope, &context))
    }
}
