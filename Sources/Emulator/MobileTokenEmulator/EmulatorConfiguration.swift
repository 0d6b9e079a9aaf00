import Basics
public import EmulatorBackend
public import Foundation

extension Emulator {
    /// The limits of the server.
    public typealias Limits = EmulatorLimits

    /// The limits on the objects that callers can create.
    public typealias Capacity = EmulatorCapacity

    /// The protocol versions that the server accepts.
    public typealias ProtocolRules = EmulatorProtocolRules

    /// The generation of real servers to emulate.
    public typealias ServerProfile = EmulatorServerProfile

    /// A built-in OpenID provider.
    public typealias OIDCProvider = EmulatorOIDCProvider

    /// The configuration of a development server. The defaults suit a test.
    public struct Configuration: Sendable {
        /// The IPv4 or IPv6 address to bind to; loopback by default. On any other address, the control API and the console
        /// require ``cloudUser`` and ``cloudPassword``.
        public var host: String = "127.0.0.1"
        /// The port to bind to; 0, the default, selects a free one.
        public var port: UInt16 = 0
        /// The address by which clients reach the server, if a proxy is before it, such as `https://bank.test/tokens`. `nil`, the
        /// default, repeats the name that a client used.
        public var publicURL: String?
        /// The TLS mode; disabled by default.
        public var tls: TLS = .disabled
        /// The user of the cloud API's Basic authentication.
        public var cloudUser: String = "developer"
        /// The password of the cloud API's Basic authentication. `nil`, the default, generates one at each start, which the
        /// backend must be given.
        public var cloudPassword: String? {
            get { self.maskedPassword.value }
            set { self.maskedPassword.value = newValue }
        }
        private var maskedPassword = Masked<String?>(nil)
        /// The name reported by `/pa/v3/status` and `/pa/v4/status`.
        public var applicationName: String = "Mobile Token Emulator"
        /// The identifier of the clients' application, `appId` in the cloud API.
        public var applicationID: String = "mobile-token"
        /// The protocol limits: attempts, lifetimes, windows.
        public var limits: Limits = .init()
        /// The default origin of a space.
        package var spaceOrigin: SpaceOrigin?
        /// Indicates whether a space with a failed test stays until the end of the server, even if stopped or removed; `false` by
        /// default. See ``Emulator/markFailed(because:)``.
        public var keepsFailedSpaces = false
        /// Called for each space with a failed test.
        package var reportFailedSpace: (@Sendable (FailedSpace) async -> Void)?
        /// The limits on the objects that callers can create.
        public var capacity: Capacity = .init()
        /// The accepted protocol versions at the start and after each reset.
        public var protocolRules: ProtocolRules = .init()
        /// The generation of real servers to emulate: the newest by default.
        public var profile: ServerProfile = .init()
        /// Operation templates, a JSON document each, in addition to the built-in ones; one of the same name replaces it.
        public var templates: [String] = []
        /// The OpenID providers of a new state: one named `emulator` by default.
        public var oidcProviders: [OIDCProvider] = [OIDCProvider()]
        /// The http or https address that receives each push message as JSON, in place of the platforms' servers. `nil`, the
        /// default, only stores them: ``Emulator/pushes()``.
        public var pushURL: String?
        /// Fixes identifiers, keys and nonces, so that two servers respond equally to equal requests. `nil`, the default, uses
        /// the system's generator. A seeded server has no secrets, except the generated ``cloudPassword`` and the TLS key of one
        /// bound outside loopback, which are never fixed.
        public var seed: UInt64?
        /// An exported state for the start and for resets.
        public var initialState: Data?
        /// The scenario of a new state, also after a reset.
        package var scenario: Data?
        /// The path of an SQLite file that keeps the state over a restart; its content takes precedence over
        /// ``initialState``. Every response waits until its state is on disk. `nil`, the default, keeps it in memory.
        ///
        /// The journal, deliveries, pushes, faults, the clock and spaces are in memory only.
        ///
        /// The file holds private keys: it gets mode 0600 whatever the umask, even if it exists.
        public var dataFile: String?
        /// Called for each request when its response begins.
        package var requestLog: (@Sendable (LoggedRequest) -> Void)?

        /// Creates the default configuration.
        public init() {}
    }
}

extension Emulator.Configuration {
    /// The credentials of the cloud API and the control API; `nil` before a password is generated.
    var cloudCredentials: BasicCredentials? {
        self.cloudPassword.map { BasicCredentials(user: self.cloudUser, password: $0) }
    }

    /// The backend's part of the configuration.
    var backend: BackendConfiguration {
        var backend = BackendConfiguration(
            applicationID: self.applicationID,
            applicationName: self.applicationName,
            cloudCredentials: self.cloudCredentials
        )
        (backend.limits, backend.capacity, backend.protocolRules) = (self.limits, self.capacity, self.protocolRules)
        (backend.profile, backend.templates) = (self.profile, self.templates)
        backend.oidcProviders = self.oidcProviders
        return backend
    }
}
