extension CurlTransport {
    /// The options of a transport. The defaults suit a server process.
    public struct Configuration: Sendable {
        /// The longest time from the call to the complete response, including the wait for a connection. Default: 20 s.
        /// `HTTPRequest.timeout` overrides it.
        public var timeout: Duration = .seconds(20)
        /// The longest time for name resolution, connection and TLS handshake together. Default: 10 s.
        public var connectTimeout: Duration = .seconds(10)
        /// The largest response body in bytes, after decompression. Default: 8 MiB.
        public var maximumResponseSize = 8 * 1024 * 1024
        /// The largest header section in bytes, including interim responses and trailers. Default: 64 KiB.
        public var maximumHeaderSize = 64 * 1024
        /// The largest number of concurrent requests to one host; others wait in order. Default: 64. Without HTTP/2 it also
        /// limits the connections to one host.
        public var maximumRequestsPerHost = 64
        /// The largest number of concurrent requests and open connections. Default: 256.
        public var maximumConnections = 256
        /// The time for which an idle connection is kept. Default: 15 s, which is less than common servers' timeouts.
        public var idleConnectionLifetime: Duration = .seconds(15)
        /// The age at which a connection gets no new requests, so that DNS changes are noticed. Default: 10 minutes.
        public var maximumConnectionAge: Duration = .seconds(600)
        /// Indicates whether compressed responses are requested and decompressed. Default: `true`.
        public var acceptsCompression = true
        /// The default value of the `User-Agent` header.
        public var userAgent: UserAgent = .libraryDefault
        /// The proxy for all requests. Default: none.
        public var proxy: Proxy = .none
        /// The authentication of the server and of this client.
        public var tls = TLS()

        /// Creates the default configuration.
        public init() {}
    }

    /// A value of the `User-Agent` header.
    public struct UserAgent: Sendable, Hashable {
        let value: String

        /// Name and version of this library.
        public static let libraryDefault = Self(value: "swift-mobile-token/1.0")
        /// Name and version of libcurl, such as `libcurl/7.88.1`.
        public static let systemDefault = Self(value: EasyHandle.libraryVersion)
        /// Returns a custom value, such as `approval-bot/2.1`.
        public static func custom(_ value: String) -> Self { Self(value: value) }
    }

    /// The proxy for requests.
    public struct Proxy: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        enum Kind: Hashable { case none, environment, url(String) }

        let kind: Kind

        /// No proxy, whatever the environment.
        public static let none = Self(kind: .none)
        /// The proxy in the environment variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`.
        public static let environment = Self(kind: .environment)
        /// Returns the proxy at `url`, such as `http://user:password@proxy.example.com:3128` or `socks5h://127.0.0.1:1080`.
        /// Schemes: `http`, `https`, `socks4`, `socks4a`, `socks5` and `socks5h`.
        public static func url(_ url: String) -> Self { Self(kind: .url(url)) }

        /// The kind only, because the URL may contain a password.
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
    /// Throws for an option that would otherwise fail at every request.
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
