public import Foundation
public import HTTPTransport
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

    /// Creates a configuration.
    ///
    /// - Parameters:
    ///   - baseURL: An absolute `http` or `https` URL without user, query or fragment.
    ///   - powerAuthURL: Where `/pa/v3/…` is, if not below `baseURL`.
    ///   - sdkConfiguration: The text that the server's administrator hands out.
    ///   - userAgent: Replaces the SDK's own name and version; printable ASCII.
    /// - Throws: ``MobileTokenError/Code/invalidConfiguration``, with the name of what is wrong in the message.
    public init(
        baseURL: String,
        powerAuthURL: String? = nil,
        sdkConfiguration: String,
        transport: any HTTPTransport,
        store: any ActivationStore,
        userAgent: String? = nil
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
            userAgent: userAgent
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
        userAgent: String? = nil
    ) throws(MobileTokenError) {
        self.baseURL = try Self.validated(baseURL, "baseURL")
        self.powerAuthURL =
            try powerAuthURL.map { url throws(MobileTokenError) in
                try Self.validated(url, "powerAuthURL")
            } ?? self.baseURL
        self.sdkConfiguration = sdkConfiguration
        self.transport = transport
        self.store = store
        self.userAgent = try Self.validated(userAgent: userAgent ?? Self.defaultUserAgent)
    }

    private static func validated(_ baseURL: String, _ name: String) throws(MobileTokenError) -> String {
        func mistake(_ what: String) -> MobileTokenError {
            MobileTokenError(.invalidConfiguration, "\(name): \(what)")
        }
        guard baseURL.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let url = URLComponents(string: baseURL) else {
            throw mistake("not a URL")
        }
        guard let scheme = url.scheme?.lowercased(), scheme == "https" || scheme == "http" else {
            throw mistake("the scheme must be https or http")
        }
        guard let host = url.host, !host.isEmpty else { throw mistake("no host") }
        guard url.user == nil, url.password == nil else { throw mistake("a user or password does not belong here") }
        guard url.query == nil, url.fragment == nil else { throw mistake("a query or fragment does not belong here") }
        if let port = url.port, !(1...65535).contains(port) { throw mistake("the port must be between 1 and 65535") }
        var text = baseURL
        while text.hasSuffix("/") { text.removeLast() }
        return text
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
