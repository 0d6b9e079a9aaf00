import Coordination
public import PowerAuth

/// Registers an activation's device for push messages.
public actor PushService {
    /// Where push messages come from. A struct, so that a new platform breaks no caller's `switch`.
    public struct Platform: Sendable, Hashable, CustomStringConvertible {
        /// The name that is sent.
        public let description: String

        /// Creates a platform from the name that the server knows it by.
        public init(_ name: String) {
            self.description = name
        }

        /// Apple Push Notification service.
        public static let apns = Self("apns")
        /// Firebase Cloud Messaging.
        public static let fcm = Self("fcm")
        /// Huawei Mobile Services.
        public static let hms = Self("hms")
    }

    /// A device as it is, or is being, registered.
    public struct Registration: Sendable, Hashable {
        /// Where push messages come from.
        public let platform: Platform
        /// The device's token there.
        public let token: String

        /// Creates a registration.
        public init(platform: Platform, token: String) {
            self.platform = platform
            self.token = token
        }
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
    ///
    /// - Parameter activation: An ``Activation``, or what stands for one in a unit test.
    public init(activation: any AuthenticatedChannel) {
        self.channel = activation
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
            let response = try await ServerCall.other.mappingErrors {
                try await channel.post(
                    "/api/push/device/register/token",
                    body: RequestBody.pushRegistration(platform: platform.description, token: token),
                    authentication: .universalToken,
                    acceptLanguage: AcceptLanguage.english.description
                )
            }
            _ = try response.read { try SuccessResponse(parsing: $0) }
        }
        self.registration = registration
    }

    private func callerLeft() {
        guard let pending else { return }
        self.pending = pending.callers > 1 ? (pending.registration, pending.callers - 1) : nil
    }
}
