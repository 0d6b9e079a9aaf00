import APIDescriptions
import EmulatorMessages
import ExactJSON

/// Registration for push messages.
enum PushEndpoints {
    static let routes: [Backend.Route] = [
        Self.tokenRoute("/api/push/device/register", "Registers for push messages."),
        Self.tokenRoute("/api/push/device/register/token", "Registers for push messages: the older path."),
    ]

    private static func tokenRoute(_ path: String, _ summary: String) -> Backend.Route {
        .device("POST \(path)", summary, shows: .token, takes: .required(.pushRequest), gives: .done, Self.register)
    }

    static func register(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let request = try context.optionalRequestObject()
        let platform = try request?.enumeration("platform", of: bank.profile.pushPlatforms)
        let token = try request?.optionalString("token")
        let environment = try bank.profile.pushEnvironment(request)
        let activation = try bank.authenticateToken(&context, dialect: .powerAuth)
        guard let platform, let token, !token.isBlank else {
            throw Refusal(
                400,
                "INVALID_REQUEST",
                "Invalid request object.",
                because: "'platform' or 'token' is missing"
            )
        }
        guard token.utf8.count <= Self.longestPushToken else {
            throw Refusal(
                400,
                "PUSH_REGISTRATION_FAILED",
                "Push registration failed in Mobile Token API component.",
                because: "the token is longer than \(Self.longestPushToken) bytes"
            )
        }
        bank.state.devices[activation.id] = PushDevice(
            activationID: activation.id,
            // The push server keeps the platform of a known activation.
            platform: bank.state.devices[activation.id]?.platform ?? platform,
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

extension EmulatorServerProfile {
    /// The platforms that a device may name, in the order of the enumeration. The first three are the older names.
    fileprivate var pushPlatforms: [String] {
        self.release == .v1_9 ? Array(PushDevice.platforms.prefix(3)) : PushDevice.platforms
    }

    /// Returns the Apple environment that a device names, which the oldest release ignores.
    fileprivate func pushEnvironment(_ request: JSONObject?) throws(Refusal) -> String? {
        self.release == .v1_9 ? nil : try request?.enumeration("environment", of: PushDevice.environments)
    }
}
