internal import EmulatorMessages
internal import PowerAuthProtocol

extension Backend {
    mutating func registerDevice(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let activation = try self.authenticateToken(&context, dialect: .powerAuth)
        return try self.register(activation, &context)
    }

    /// The older form, with a signature in place of a token.
    mutating func registerSignedDevice(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let signature = try self.authenticateSignature(
            &context,
            uriID: "/push/device/register",
            allowing: .onlineFactors,
            dialect: .powerAuth
        )
        return try self.register(signature.activation, &context)
    }

    private mutating func register(_ activation: ServerActivation, _ context: inout RequestContext)
        throws(Refusal) -> ServerResponse
    {
        let request = try context.requestObject()
        let (platform, token) = (try request.string("platform"), try request.string("token"))
        let environment = try request.optionalString("environment")
        // `ios` and `android` are what older clients say.
        guard ["apns", "fcm", "hms", "ios", "android", "huawei"].contains(platform) else {
            throw .invalidRequest("'platform' is none of apns, fcm and hms")
        }
        try self.refuseUnverifiedDevice(activation)
        guard token.utf8.count <= Self.longestPushToken else {
            throw Refusal(
                400,
                "PUSH_REGISTRATION_FAILED",
                "Push registration failed",
                because: "the token is longer than \(Self.longestPushToken) bytes"
            )
        }
        self.state.devices[activation.id] = PushDevice(
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
