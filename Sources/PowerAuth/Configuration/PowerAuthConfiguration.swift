public import Foundation
public import HTTPClientTransport
public import PowerAuthProtocol

/// Where the server is, what identifies the application, and what the client is built from.
///
/// Mistakes in the URL, the keys or the configuration string are reported here, by name, and not at the first request.
public struct PowerAuthConfiguration: Sendable {
    /// The address below which `/api/…` is found, without a slash at its end.
    public let baseURL: String
    /// The address below which `/pa/v3/…` is found: ``baseURL``, unless a server keeps the two apart.
    public let powerAuthURL: String
    /// The application's key and secret, and the server's master public key.
    public let sdkConfiguration: SDKConfiguration

    /// The version of the protocol that new activations speak. An existing one goes on in the version it was made with.
    public var version: ProtocolVersion = .v3_3
    /// What carries the requests.
    public var transport: any HTTPTransport
    /// What keeps the activations.
    public var store: any ActivationStore
    /// Measures round trips and the age of keys. Must never step back.
    public var clock: any Clock<Duration> = ContinuousClock()
    /// The local date; corrected by what the server says.
    public var wallClock: @Sendable () -> Date = { Date() }
    /// Is told of every request.
    public var observer: (any MobileTokenObserver)?
    /// The longest a request may take; `nil` leaves it to the transport.
    public var timeout: Duration?
    /// Sent as `User-Agent`.
    public let userAgent: String

    /// Keys, nonces and challenges come from here.
    package var randomness = Randomness.system
    /// Keys are derived from passwords here.
    package var derivations = DerivationQueue.shared

    /// Creates a configuration.
    ///
    /// - Parameters:
    ///   - baseURL: An absolute `http` or `https` URL without user, query or fragment.
    ///   - powerAuthURL: Where `/pa/v3/…` is, if not below `baseURL`.
    ///   - sdkConfiguration: The text that the server's administrator hands out.
    ///   - userAgent: Replaces the SDK's own name and version; printable ASCII.
    ///   - allowsInsecureHTTP: Whether plain `http` may lead to another machine. Anybody on the way can then read everything,
    ///     tokens included, and change most of it. `http` to this machine (`localhost`, `127.0.0.0/8`, `[::1]`) needs no
    ///     permission.
    /// - Throws: ``MobileTokenError/Code/invalidConfiguration``, with the name of what is wrong in the message: also when the
    ///   transport has a pin, an authority or a client certificate, and the URL is `http`, where they mean nothing.
    public init(
        baseURL: String,
        powerAuthURL: String? = nil,
        sdkConfiguration: String,
        transport: any HTTPTransport,
        store: any ActivationStore,
        userAgent: String? = nil,
        allowsInsecureHTTP: Bool = false
    ) throws(MobileTokenError) {
        let parsed: SDKConfiguration
        do {
            parsed = try SDKConfiguration(parsing: sdkConfiguration)
        } catch {
            throw MobileTokenError(.invalidConfiguration, "sdkConfiguration: \(error)", underlying: error)
        }
        try self.init(
            baseURL: baseURL,
            powerAuthURL: powerAuthURL,
            sdkConfiguration: parsed,
            transport: transport,
            store: store,
            userAgent: userAgent,
            allowsInsecureHTTP: allowsInsecureHTTP
        )
    }

    /// Creates a configuration from one that was parsed, or put together from its keys.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidConfiguration``, with the name of what is wrong in the message.
    public init(
        baseURL: String,
        powerAuthURL: String? = nil,
        sdkConfiguration: SDKConfiguration,
        transport: any HTTPTransport,
        store: any ActivationStore,
        userAgent: String? = nil,
        allowsInsecureHTTP: Bool = false
    ) throws(MobileTokenError) {
        let rule = BaseURLRule(allowsInsecureHTTP: allowsInsecureHTTP, requiresTLS: transport.requiresTLS)
        self.baseURL = try rule.validated(baseURL, "baseURL")
        self.powerAuthURL =
            try powerAuthURL.map { url throws(MobileTokenError) in
                try rule.validated(url, "powerAuthURL")
            } ?? self.baseURL
        self.sdkConfiguration = sdkConfiguration
        self.transport = transport
        self.store = store
        self.userAgent = try Self.validated(userAgent: userAgent ?? Self.defaultUserAgent)
    }

    private static func validated(userAgent: String) throws(MobileTokenError) -> String {
        guard !userAgent.isEmpty, userAgent.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw MobileTokenError(.invalidConfiguration, "userAgent: not printable ASCII")
        }
        return userAgent
    }

    private static let defaultUserAgent: String = {
        let system = ProcessInfo.processInfo.operatingSystemVersion
        let version = "\(system.majorVersion).\(system.minorVersion).\(system.patchVersion)"
        #if os(Linux)
            return "swift-mobile-token/\(SDKVersion.text) (Linux \(version))"
        #else
            return "swift-mobile-token/\(SDKVersion.text) (Darwin \(version))"
        #endif
    }()
}

/// The version of this SDK.
package enum SDKVersion {
    /// As it is sent to servers.
    package static let text = "1.0.0"
}
