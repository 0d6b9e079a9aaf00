public import Foundation

extension Emulator {
    /// How a development server is set up. Every property has a default that suits a test.
    public struct Configuration: Sendable {
        /// The address to bind to: an IPv4 or IPv6 address. Loopback by default. Bound anywhere else, the control
        /// plane and the console ask for ``cloudUser`` and ``cloudPassword``.
        public var host: String = "127.0.0.1"
        /// The port to bind to; 0, the default, takes a free one.
        public var port: UInt16 = 0
        /// Whether it speaks TLS; not, by default.
        public var tls: TLS = .disabled
        /// The user of the `/v2` API's Basic authentication.
        public var cloudUser: String = "developer"
        /// The password of the `/v2` API's Basic authentication. `nil`, the default, makes one at each start; the
        /// backend is then given the made one.
        public var cloudPassword: String?
        /// The name that `/pa/v3/status` tells.
        public var applicationName: String = "Mobile Token Emulator"
        /// The identifier of the application that clients are configured for, `appId` in the `/v2` API.
        public var applicationID: String = "mobile-token"
        /// What the server allows.
        public var limits: Limits = .init()
        /// What callers can make the server hold.
        public var capacity: Capacity = .init()
        /// Operation templates, a JSON document each, beside the built-in ones; one of the same name replaces it.
        public var templates: [String] = []
        /// Fixes identifiers, keys and nonces, so that two servers that are asked the same answer the same. `nil`, the
        /// default, takes them from the system's generator. A server with a seed has no secrets.
        public var seed: UInt64?
        /// An exported state to start with, and to go back to at a reset.
        public var initialState: Data?
        /// The path of an SQLite file that keeps the state over a restart; what it holds goes before ``initialState``.
        /// Every response waits until the state behind it is on the disk. `nil`, the default, keeps it in memory.
        public var dataFile: String?

        /// The defaults.
        public init() {}
    }

    /// What the server allows. The defaults are those of the real servers.
    public struct Limits: Sendable, Codable, Hashable {
        /// How many steps ahead of its own counter the server looks for a signature's.
        public var lookAhead: Int = 20
        /// After how many failed authentications in a row an activation is blocked.
        public var failedAttempts: Int = 5
        /// How many seconds an activation code can be used.
        public var activationCodeLifetime: Double = 300
        /// How many seconds a token's timestamp may lie behind the server's time.
        public var tokenTimestampAge: Double = 7200
        /// How many seconds a token's timestamp may run ahead of the server's time.
        public var tokenTimestampAhead: Double = 60
        /// How many seconds the timestamp of an encrypted request may run ahead of the server's time.
        public var encryptionTimestampAhead: Double = 60
        /// How many seconds a temporary key can be used.
        public var temporaryKeyLifetime: Double = 300
        /// The step of the proximity code, in seconds.
        public var proximityCodeStep: Double = 30
        /// After how many failed approvals an operation fails, unless its template says otherwise.
        public var operationFailures: Int = 5
        /// How many seconds an operation waits for a decision, unless its template says otherwise.
        public var operationLifetime: Double = 300
        /// How many operations the list and the history show.
        public var listLength: Int = 100

        /// The limits of the real servers.
        public init() {}
    }
}
