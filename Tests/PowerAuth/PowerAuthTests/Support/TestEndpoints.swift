@testable import EmulatorBackend
import APIDescriptions
import EmulatorMessages
import ExactJSON
import PowerAuthProtocol

enum TestEndpoints {
    static let routes: [Backend.Route] = [
        .device("POST /api/signed", "Takes a signature.", Self.signed),
        .device("POST /api/refused", "Takes a signature and refuses nevertheless.", Self.refused),
        .device("POST /api/token", "Takes a token.", Self.token),
        .device("POST /api/sealed", "Takes a signature over what is in an envelope.", Self.sealed),
        .device("POST /api/encrypted/application", "Takes an envelope.", Self.applicationEnvelope),
        .device("POST /api/encrypted/activation", "Takes an activation's envelope.", Self.activationEnvelope),
        .device("POST /api/encrypted/token", "Takes a token and an envelope.", Self.tokenAndEnvelope),
    ]

    private static func signed(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse
    {
        _ = try bank.authenticate(
            &context,
            SignaturePolicy(uriID: "/signed", types: .onlineFactors, takesThreeFactors: true)
        )
        return .object(["done": true])
    }

    private static func refused(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal)
        -> ServerResponse
    {
        _ = try bank.authenticate(&context, SignaturePolicy(uriID: "/refused", types: .onlineFactors))
        throw Refusal(401, "POWERAUTH_AUTH_FAIL", "refused")
    }

    private static func token(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse
    {
        _ = try bank.authenticateToken(&context, dialect: .powerAuth)
        return .object(["done": true])
    }

    private static func sealed(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse
    {
        try Self.echo(
            ApplicationEndpointPolicy(proof: .code(SignaturePolicy(uriID: "/sealed", types: .onlineFactors))),
            &bank,
            &context
        )
    }

    private static func applicationEnvelope(
        _ bank: inout Backend,
        _ context: inout RequestContext
    ) throws(Refusal) -> ServerResponse {
        try Self.echo(
            ApplicationEndpointPolicy(proof: .envelope(refusal: Refusal.encryption), scope: .application),
            &bank,
            &context
        )
    }

    private static func activationEnvelope(
        _ bank: inout Backend,
        _ context: inout RequestContext
    ) throws(Refusal) -> ServerResponse {
        try Self.echo(ApplicationEndpointPolicy(proof: .envelope(refusal: Refusal.encryption)), &bank, &context)
    }

    private static func tokenAndEnvelope(
        _ bank: inout Backend,
        _ context: inout RequestContext
    ) throws(Refusal) -> ServerResponse {
        try Self.echo(ApplicationEndpointPolicy(proof: .token(.onlineFactors)), &bank, &context)
    }

    private static func echo(
        _ demand: ApplicationEndpointPolicy,
        _ bank: inout Backend,
        _ context: inout RequestContext
    ) throws(Refusal) -> ServerResponse {
        let call = try bank.receive(&context, demand)
        return try bank.respond(.wrapped(["echo": call.content?["requestObject"] ?? .null]), to: call, &context)
    }
}
