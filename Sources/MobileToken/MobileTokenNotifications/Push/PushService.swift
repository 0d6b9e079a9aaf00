import Coordination
import MobileToken
public import PowerAuth
import PowerAuthClient
import Synchronization

/// Registers an activation's device for push messages.
public actor PushService {
    /// A push service. A struct, so that a new platform breaks no caller's `switch`.
    ///
    /// The three names are those of servers from 2.0 on; servers up to 1.10 get `ios`, `android` and `huawei`, the only names
    /// that 1.9 knows.
    public struct Platform: Sendable, Hashable, CustomStringConvertible {
        /// The name.
        public let description: String

        /// Creates a platform from the server's name for it.
        public init(_ name: String) {
            self.description = name
        }

        /// Apple Push Notification service.
        public static let apns = Self("apns")
        /// Firebase Cloud Messaging.
        public static let fcm = Self("fcm")
        /// Huawei Mobile Services.
        public static let hms = Self("hms")

        /// Returns the platform's name at a server of a release.
        func name(at release: ServerRelease?) -> String {
            guard let release, release < ServerRelease(2, 0) else { return self.description }
            return Self.formerNames[self] ?? self.description
        }

        private static let formerNames: [Self: String] = [.apns: "ios", .fcm: "android", .hms: "huawei"]
    }

    /// A platform's servers for a device. A struct, so that a new environment breaks no caller's `switch`.
    public struct Environment: Sendable, Hashable, CustomStringConvertible {
        /// The name that is sent.
        public let description: String

        /// Creates an environment from the server's name for it.
        public init(_ name: String) {
            self.description = name
        }

        /// For an app signed for development.
        public static let development = Self("development")
        /// For a distributed app.
        public static let production = Self("production")
    }

    /// A completed or pending registration of a device.
    public struct Registration: Sendable, Hashable {
        /// The push service.
        public let platform: Platform
        /// The device's token at the push service.
        public let token: String

        /// The platform's servers for the device; `nil` leaves that to the server's configuration.
        public let environment: Environment?

        /// Creates a registration.
        package init(platform: Platform, token: String, environment: Environment? = nil) {
            self.platform = platform
            self.token = token
            self.environment = environment
        }
    }

    /// The registration that the server last accepted from this service; `nil` before the first.
    public nonisolated var registration: Registration? { self.shown.withLock { $0.registration } }

    /// Indicates whether a registration is under way.
    public nonisolated var isRegistering: Bool { self.shown.withLock { $0.pending != nil } }

    private let channel: any AuthenticatedChannel
    private nonisolated let registering = Coalescer<Void>()
    /// The state that every caller may read.
    private nonisolated let shown = Mutex(State())

    private struct State {
        var registration: Registration?
        var pending: (registration: Registration, callers: Int)?
    }

    private var pending: (registration: Registration, callers: Int)? {
        get { self.shown.withLock { $0.pending } }
        set { self.shown.withLock { $0.pending = newValue } }
    }

    /// The number of callers that share the current registration.
    package nonisolated var waiterCount: Int { self.registering.waiterCount }

    /// Creates the service of an activation. Sends nothing yet.
    ///
    /// - Parameter activation: An `Activation`, or its replacement in a unit test.
    public init(activation: any AuthenticatedChannel) {
        self.channel = activation
    }

    /// Registers the device. Concurrent calls with the same arguments share one request.
    ///
    /// A registered token is registered again, because the server may have dropped it. A server 1.9 keeps an activation's first
    /// platform, whatever later registrations name, and only changes the token.
    ///
    /// - Parameters:
    ///   - token: The device's token at the platform.
    ///   - platform: The push service.
    ///   - environment: The platform's servers for the device; only Apple has more than one. `nil`, the default, leaves that to
    ///     the server's configuration.
    /// - Throws: `MobileTokenError`, such as `pushRegistrationFailed`; `pushAlreadyRegistering` during the registration of
    ///   another token; `invalidConfiguration` for an environment of a platform that has none.
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
            let release = try? await channel.evidence?.source.serverRelease()
            let response = try await ServerCall.other.post(
                "/api/push/device/register/token",
                body: try OperationRequest.pushRegistration(registration, at: release),
                on: channel,
                language: MobileTokenClient.AcceptLanguage.english.description
            )
            _ = try response.read { try SuccessResponse(parsing: $0) }
        }
        self.shown.withLock { $0.registration = registration }
    }

    private func callerLeft() {
        guard let pending else { return }
        self.pending = pending.callers > 1 ? (pending.registration, pending.callers - 1) : nil
    }
}

extension PushService.Registration: CustomStringConvertible {
    /// Only the platform.
    public var description: String { "<push registration at \(self.platform)>" }
}

extension PushService.Registration: Opaque {}
