extension CurlTransport {
    /// The options of a transport, with defaults that suit a server process.
    public struct Configuration: Sendable {
        /// The longest time from the call to the complete response, including the wait for a free connection: 20 seconds by
        /// default. `HTTPRequest.timeout` overrides it.
        public var timeout: Duration = .seconds(20)
        /// The longest time for name resolution, connection and TLS handshake together: 10 seconds by default.
        public var connectTimeout: Duration = .seconds(10)
        /// The largest body accepted, in bytes after decompression: 8 MiB by default.
        public var maximumResponseSize = 8 * 1024 * 1024
        /// The largest header section accepted, in bytes, including interim responses and trailers: 64 KiB by default.
        public var maximumHeaderSize = 64 * 1024
        /// The largest number of requests to one host at a time: 64 by default. Others wait for their turn, in order.
        ///
        /// Without HTTP/2 this is also the largest number of connections to one host.
        public var maximumRequestsPerHost = 64
        /// The largest number of requests at a time, and of open connections: 256 by default.
        public var maximumConnections = 256
        /// The time for which an idle connection is kept: 15 seconds by default, which is less than common servers wait before
        /// they close it.
        public var idleConnectionLifetime: Duration = .seconds(15)
        /// The age at which a connection no longer gets new requests, so that changes in DNS are noticed: 10 minutes by
        /// default.
        public var maximumConnectionAge: Duration = .seconds(600)
        /// Indicates whether compressed responses are requested, and decompressed: `true` by default.
        public var acceptsCompression = true
        /// The value of the `User-Agent` header, unless the request has its own.
        public var userAgent: UserAgent = .libraryDefault
        /// The proxy of all requests: none by default.
        public var proxy: Proxy = .none
        /// The authentication of the server and of this client.
        public var tls = TLS()

        /// Creates the default configuration.
        public init() {}
    }

    /// A value of the `User-Agent` header.
    public struct UserAgent: Sendable, Hashable {
        let value: String

        /// The name and version of this library.
        public static let libraryDefault = Self(value: "swift-mobile-token/1.0")
        /// The name and version of libcurl, such as `libcurl/7.88.1`.
        public static let systemDefault = Self(value: EasyHandle.libraryVersion)
        /// Returns a value of your own, such as `approval-bot/2.1`.
        public static func custom(_ value: String) -> Self { Self(value: value) }
    }

    /// A proxy that requests go through.
    public struct Proxy: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        enum Kind: Hashable { case none, environment, url(String) }

        let kind: Kind

        /// No proxy, whatever the environment says.
        public static let none = Self(kind: .none)
        /// The proxy named by `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` in the environment.
        public static let environment = Self(kind: .environment)
        /// Returns the proxy at `url`, such as `http://user:password@proxy.example.com:3128` or `socks5h://127.0.0.1:1080`. The
        /// scheme is `http`, `https`, `socks4`, `socks4a`, `socks5` or `socks5h`.
        public static func url(_ url: String) -> Self { Self(kind: .url(url)) }

        /// The kind alone: the URL may hold a password.
        public var description: String {
            switch self.kind {
            case .none: "none"
            case .environment: "environment"
            case .url: "url"
            }
        }
        /// Empty, so that `dump` reveals nothing.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }
}

extension CurlTransport.Configuration {
    /// Throws for an option that would otherwise fail later, at every request.
    func validate() throws(HTTPTransportError) {
        func require(_ condition: Bool, _ detail: StaticString) throws(HTTPTransportError) {
            if !condition { throw HTTPTransportError(.invalidConfiguration, detail: "\(detail)") }
        }
        try require(self.timeout > .zero && self.connectTimeout > .zero, "a timeout must be positive")
        try require(self.idleConnectionLifetime >= .seconds(1), "idleConnectionLifetime must be at least a second")
        try require(self.maximumConnectionAge >= .seconds(1), "maximumConnectionAge must be at least a second")
        try require(self.maximumResponseSize > 0 && self.maximumHeaderSize > 0, "a size limit must be positive")
        try require(self.maximumRequestsPerHost > 0, "maximumRequestsPerHost must be positive")
        try require(self.maximumConnections > 0, "maximumConnections must be positive")
        try require(HeaderSyntax.isValue(self.userAgent.value), "the user agent holds a control character")
        try self.proxy.validate()
        try self.tls.validate()
    }
}
