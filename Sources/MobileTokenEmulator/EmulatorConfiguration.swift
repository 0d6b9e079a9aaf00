public import EmulatorBackend
public import Foundation

extension Emulator {
    /// The limits of the server.
    public typealias Limits = EmulatorLimits

    /// The bounds of what callers can make the server hold.
    public typealias Capacity = EmulatorCapacity

    /// The versions of the protocol that the server accepts.
    public typealias ProtocolRules = EmulatorProtocolRules

    /// The generation of real servers that the server behaves as.
    public typealias ServerProfile = EmulatorServerProfile

    /// An OpenID provider that the server has built in.
    public typealias OIDCProvider = EmulatorOIDCProvider

    /// The configuration of a development server. Every property has a default that suits a test.
    public struct Configuration: Sendable {
        /// The address to bind to: an IPv4 or IPv6 address. Loopback by default. Bound anywhere else, the control
        /// plane and the console ask for ``cloudUser`` and ``cloudPassword``.
        public var host: String = "127.0.0.1"
        /// The port to bind to; 0, the default, takes a free one.
        public var port: UInt16 = 0
        /// Indicates whether it speaks TLS; not, by default.
        public var tls: TLS = .disabled
        /// The user of the cloud API's Basic authentication.
        public var cloudUser: String = "developer"
        /// The password of the cloud API's Basic authentication. `nil`, the default, makes one at each start; the
        /// backend is then given the made one.
        public var cloudPassword: String?
        /// The name that `/pa/v3/status` and `/pa/v4/status` tell.
        public var applicationName: String = "Mobile Token Emulator"
        /// The identifier of the application that clients are configured for, `appId` in the cloud API.
        public var applicationID: String = "mobile-token"
        /// The limits of the protocol: attempts, lifetimes, windows.
        public var limits: Limits = .init()
        /// The origin of a space for which none is given.
        package var spaceOrigin: SpaceOrigin?
        /// Indicates whether a space whose test has failed stays until the end of the server, also when it is stopped or removed; not,
        /// by default. See ``Emulator/markFailed(because:)``.
        public var keepsFailedSpaces = false
        /// Is told of each space whose test has failed.
        package var reportFailedSpace: (@Sendable (FailedSpace) async -> Void)?
        /// The bounds of what callers can make the server hold.
        public var capacity: Capacity = .init()
        /// The versions of the protocol that the server accepts at the start and after each reset.
        public var protocolRules: ProtocolRules = .init()
        /// The generation of real servers to behave as: the newest by default.
        public var profile: ServerProfile = .init()
        /// Operation templates, a JSON document each, beside the built-in ones; one of the same name replaces it.
        public var templates: [String] = []
        /// The OpenID providers that a new state has: one named `emulator` by default.
        public var oidcProviders: [OIDCProvider] = [OIDCProvider()]
        /// The receiver of push messages in the place of the platforms' own servers: an address of http or https, which is sent each
        /// of them as JSON. `nil`, the default, only keeps them: ``Emulator/pushes()``.
        public var pushURL: String?
        /// Fixes identifiers, keys and nonces, so that two servers give the same responses to the same requests. `nil`, the
        /// default, takes them from the system's generator. A server with a seed has no secrets, but for the made
        /// ``cloudPassword`` and the key for TLS of one that is not bound to loopback: these are never fixed.
        public var seed: UInt64?
        /// An exported state to start with, and to go back to at a reset.
        public var initialState: Data?
        /// The scenario that a new state begins with, also after a reset.
        package var scenario: Data?
        /// The path of an SQLite file that keeps the state over a restart; what it holds goes before ``initialState``.
        /// Every response waits until the state behind it is on the disk. `nil`, the default, keeps it in memory.
        ///
        /// The journal, deliveries, pushes, faults, the clock, snapshots and spaces are in memory only.
        ///
        /// The file holds private keys: it gets mode 0600, whatever the process's umask, also when it is there already.
        public var dataFile: String?
        /// Is told of each request when its response begins.
        package var requestLog: (@Sendable (LoggedRequest) -> Void)?

        /// The defaults.
        public init() {}
    }
}

extension Emulator.Configuration {
    /// Those of the cloud API, which the control API asks for as well; `nil` before a password is made.
    var cloudCredentials: BasicCredentials? {
        self.cloudPassword.map { BasicCredentials(user: self.cloudUser, password: $0) }
    }

    /// The part of the configuration that the backend reads.
    var backend: BackendConfiguration {
        BackendConfiguration(
            applicationID: self.applicationID,
            applicationName: self.applicationName,
            cloudCredentials: self.cloudCredentials,
            limits: self.limits,
            capacity: self.capacity,
            protocolRules: self.protocolRules,
            profile: self.profile,
            templates: self.templates,
            oidcProviders: self.oidcProviders
        )
    }
}
