public import PowerAuth

/// Registers an activation's device for push messages.
public actor PushService {
    /// Where push messages come from. A struct, so that a new platform breaks nobody's `switch`.
    public struct Platform: Sendable, Hashable, CustomStringConvertible {
        /// The name that is sent.
        public let description: String

        /// Apple Push Notification service.
        public static let apns = Self(description: "apns")
        /// Firebase Cloud Messaging.
        public static let fcm = Self(description: "fcm")
        /// Huawei Mobile Services.
        public static let hms = Self(description: "hms")
    }

    /// A device as it is, or is being, registered.
    public struct Registration: Sendable, Hashable {
        /// Where push messages come from.
        public let platform: Platform
        /// The device's token there.
        public let token: String
    }

    /// The registration that the server last accepted from this service; `nil` before the first.
    public private(set) var registration: Registration?

    /// Whether a registration is under way.
    public var isRegistering: Bool { self.pending != nil }

    private let channel: any AuthenticatedChannel
    private nonisolated let flight = SingleFlight<Void>()
    private var pending: (registration: Registration, callers: Int)?

    /// How many callers share the registration under way.
    package nonisolated var waiterCount: Int { self.flight.waiterCount }

    /// Creates the service of an activation. Nothing is sent yet.
    public init(activation: Activation) {
        self.init(channel: activation)
    }

    package init(channel: any AuthenticatedChannel) {
        self.channel = channel
    }

    /// Registers the device. Calls that ask for the same at the same time share one request.
    ///
    /// A token that is registered already is registered again, because the server may have dropped it.
    ///
    /// - Throws: `MobileTokenError`, such as `pushRegistrationFailed`; `pushAlreadyRegistering` while another token is being
    ///   registered.
    public func register(token: String, for platform: Platform) async throws {
        let registration = Registration(platform: platform, token: token)
        if let pending, pending.registration != registration {
            throw MobileTokenError(.pushAlreadyRegistering, "Another token is being registered")
        }
        self.pending = (registration, (self.pending?.callers ?? 0) + 1)
        defer { self.callerLeft() }

        try await self.flight.run { [channel] in
            let answer = try await ServerCall.other.naming {
                try await channel.post(
                    "/api/push/device/register/token",
                    body: RequestBody.pushRegistration(platform: platform.description, token: token),
                    authentication: .universalToken,
                    acceptLanguage: AcceptLanguage.english.description
                )
            }
            _ = try answer.read { try SuccessAnswer(parsing: $0) }
        }
        self.registration = registration
    }

    private func callerLeft() {
        guard let pending else { return }
        self.pending = pending.callers > 1 ? (pending.registration, pending.callers - 1) : nil
    }
}
