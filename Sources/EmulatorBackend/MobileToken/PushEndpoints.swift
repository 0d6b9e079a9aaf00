import APIDescriptions
import EmulatorMessages
import PowerAuthProtocol

/// Registration for push messages.
enum PushEndpoints {
    static let routes: [Backend.Route] = [
        Self.tokenRoute("/api/push/device/register", "Registers for push messages."),
        Self.tokenRoute("/api/push/device/register/token", "Registers for push messages: the older path."),
        .device(
            "POST",
            "/api/push/device/register/signature",
            "Registers for push messages with a signature, as Web Flow does; other real servers have no such path.",
            shows: .code,
            takes: .required(.pushRequest),
            gives: .done,
            Self.registerSigned
        ),
    ]

    private static func tokenRoute(_ path: String, _ summary: String) -> Backend.Route {
        .device(
            "POST",
            path,
            summary,
            shows: .token,
            takes: .required(.pushRequest),
            gives: .done,
            Self.registerWithToken
        )
    }

    static func registerWithToken(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal)
        -> ServerResponse
    {
        let activation = try bank.authenticateToken(&context, dialect: .powerAuth)
        return try Self.register(&bank, activation, &context)
    }

    static func registerSigned(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse
    {
        let demand = CodeDemand(uriID: "/device/register/signature", types: [.possession])
        let activation = try bank.authenticate(&context, demand).activation
        return try Self.register(&bank, activation, &context)
    }

    private static func register(_ bank: inout Backend, _ activation: ServerActivation, _ context: inout RequestContext)
        throws(Refusal) -> ServerResponse
    {
        guard let request = try context.optionalRequestObject() else {
            throw .invalidRequest("The request object is missing")
        }
        let (platform, token) = (try request.string("platform"), try request.string("token"))
        let environment = try request.optionalString("environment")
        guard PushDevice.platforms.contains(platform) else {
            throw .unreadable("'platform' is none of \(PushDevice.platforms.joined(separator: ", "))")
        }
        guard environment.map(PushDevice.environments.contains) ?? true else {
            throw .unreadable("'environment' is none of \(PushDevice.environments.joined(separator: ", "))")
        }
        guard token.utf8.contains(where: { $0 > 0x20 }) else { throw .invalidRequest("'token' is blank") }
        guard token.utf8.count <= Self.longestPushToken else {
            throw Refusal(
                400,
                "PUSH_REGISTRATION_FAILED",
                "Push registration failed",
                because: "the token is longer than \(Self.longestPushToken) bytes"
            )
        }
        bank.state.devices[activation.id] = PushDevice(
            activationID: activation.id,
            platform: platform,
            token: token,
            environment: environment,
            registered: context.now
        )
        context.events.append(BackendEvent(subject: .device, id: activation.id, status: "REGISTERED"))
        return .ok
    }

    /// The limit of the push server.
    private static var longestPushToken: Int { 255 }
}
