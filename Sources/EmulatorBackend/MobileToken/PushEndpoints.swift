import EmulatorMessages
import PowerAuthProtocol

/// Registration for push messages.
enum PushEndpoints {
    static let routes: [Backend.Route] = [
        .device(
            "POST",
            "/api/push/device/register/token",
            "Registers for push messages, with a token.",
            shows: .token,
            takes: .required(.pushRequest),
            gives: .done,
            Self.registerWithToken
        ),
        .device(
            "POST",
            "/api/push/device/register",
            "Registers for push messages, with a signature.",
            shows: .code,
            takes: .required(.pushRequest),
            gives: .done,
            Self.registerSigned
        ),
    ]

    static func registerWithToken(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal)
        -> ServerResponse
    {
        let activation = try bank.authenticateToken(&context, dialect: .powerAuth)
        return try Self.register(&bank, activation, &context)
    }

    /// The older form, with a signature in place of a token.
    static func registerSigned(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse
    {
        let demand = CodeDemand(uriID: "/push/device/register", types: .onlineFactors)
        let activation = try bank.authenticate(&context, demand).activation
        return try Self.register(&bank, activation, &context)
    }

    private static func register(_ bank: inout Backend, _ activation: ServerActivation, _ context: inout RequestContext)
        throws(Refusal) -> ServerResponse
    {
        let request = try context.requestObject()
        let (platform, token) = (try request.string("platform"), try request.string("token"))
        let environment = try request.optionalString("environment")
        guard PushDevice.platforms.contains(platform) else {
            throw .invalidRequest("'platform' is none of \(PushDevice.platforms.joined(separator: ", "))")
        }
        guard environment.map(PushDevice.environments.contains) ?? true else {
            throw .invalidRequest("'environment' is none of \(PushDevice.environments.joined(separator: ", "))")
        }
        try activation.requireVerifiedUser()
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

    /// What the push server stores.
    private static var longestPushToken: Int { 255 }
}
