import Coordination
public import PowerAuth

/// Registers an activation's device for push messages.
public actor PushService {
    /// The service that push messages come from. A struct, so that a new platform breaks no caller's `switch`.
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

    /// The servers of a platform that reach a device. A struct, so that a new environment breaks no caller's `switch`.
    public struct Environment: Sendable, Hashable, CustomStringConvertible {
        /// The name that is sent.
        public let description: String

        /// Creates an environment from the name that the server knows it by.
        public init(_ name: String) {
            self.description = name
        }

        /// For an app that a developer signed.
        public static let development = Self("development")
        /// For an app as it is handed out.
        public static let production = Self("production")
    }

    /// A device as it is, or is being, registered.
    public struct Registration: Sendable, Hashable {
        /// The service that push messages come from.
        public let platform: Platform
        /// The device's token there.
        public let token: String

        /// The platform's servers that reach the device; `nil` leaves that to the server's configuration.
        public let environment: Environment?

        /// Creates a registration.
        public init(platform: Platform, token: String, environment: Environment? = nil) {
            self.platform = platform
            self.token = token
            self.environment = environment
        }
    }

    /// The registration that the server last accepted from this service; `nil` before the first.
    public private(set) var registration: Registration?

    /// Indicates whether a registration is under way.
    public var isRegistering: Bool { self.pending != nil }

    private let channel: any AuthenticatedChannel
    private nonisolated let registering = Coalescer<Void>()
    private var pending: (registration: Registration, callers: Int)?

    /// The number of callers that share the registration under way.
    package nonisolated var waiterCount: Int { self.registering.waiterCount }

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
    /// - Parameters:
    ///   - token: The device's token at the platform.
    ///   - platform: The service that push messages come from.
    ///   - environment: The servers of the platform that reach the device: Apple's alone has more than one. `nil`, the default,
    ///     leaves that to the server's configuration.
    /// - Throws: `MobileTokenError`, such as `pushRegistrationFailed`; `pushAlreadyRegistering` while another token is being
    ///   registered; `invalidConfiguration` for an environment of a platform that has none.
    public func register(token: String, for platform: Platform, environment: Environment? = nil) async throws {
        guard environment == nil || platform != .fcm && platform != .hms else {
            throw MobileTokenError(.invalidConfiguration, "environment: \(platform) has one only")
        }
        let registration = Registration(platform: platform, token: token, environment: environment)
        if let pending, pending.registration != registration {
            throw MobileTokenError(.pushAlreadyRegistering, "Another token is being registered")
        }
        self.pending = (registration, (self.pending?.callers ?? 0) + 1)
        defer { self.callerLeft() }

        try await self.registering.run { [channel] in
            let response = try await ServerCall.other.post(
                "/api/push/device/register/token",
                body: RequestBody.pushRegistration(registration),
                on: channel,
                language: MobileTokenClient.AcceptLanguage.english.description
            )
            _ = try response.read { try SuccessResponse(parsing: $0) }
        }
        self.registration = registration
    }

    private func callerLeft() {
        guard let pending else { return }
        self.pending = pending.callers > 1 ? (pending.registration, pending.callers - 1) : nil
    }
}
