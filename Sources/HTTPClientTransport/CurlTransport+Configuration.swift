extension CurlTransport {
    /// The options of a transport. Every one has a default that suits a server process.
    public struct Configuration: Sendable {
        /// The longest a request may take from the call to the whole answer, waiting for a free connection included:
        /// 20 seconds. `HTTPRequest.timeout` overrides it.
        public var timeout: Duration = .seconds(20)
        /// The longest that resolving, connecting and the TLS handshake may take together: 10 seconds.
        public var connectTimeout: Duration = .seconds(10)
        /// The largest body accepted, in bytes after decompression: 8 MiB.
        public var maximumResponseSize = 8 * 1024 * 1024
        /// The largest header section accepted, in bytes, interim answers and trailers included: 64 KiB.
        public var maximumHeaderSize = 64 * 1024
        /// How many requests to one host may be on the wire at once: 64. Others wait for their turn, in order.
        ///
        /// Without HTTP/2 this is also the most connections to one host.
        public var maximumRequestsPerHost = 64
        /// How many requests may be on the wire at once, and how many connections may be open: 256.
        public var maximumConnections = 256
        /// How long an idle connection is kept for another request: 15 seconds, which is less than common servers wait
        /// before they close it.
        public var idleConnectionLifetime: Duration = .seconds(15)
        /// After what age a connection is no longer given new requests, so that changes in DNS are noticed: 10 minutes.
        public var maximumConnectionAge: Duration = .seconds(600)
        /// Whether compressed answers are asked for, and decompressed: yes.
        public var acceptsCompression = true
        /// What the `User-Agent` header says. A header of the request takes precedence.
        public var userAgent: UserAgent = .libraryDefault
        /// Through which proxy requests go: none.
        public var proxy: Proxy = .none
        /// How the server is authenticated, and this client to it.
        public var tls = TLS()

        /// Creates the default configuration.
        public init() {}
    }

    /// What the `User-Agent` header says.
    public struct UserAgent: Sendable, Hashable {
        let value: String

        /// The name and version of this library.
        public static let libraryDefault = Self(value: "swift-mobile-token/1.0")
        /// The library underneath and its version, such as `libcurl/7.88.1`.
        public static let systemDefault = Self(value: EasyHandle.libraryVersion)
        /// A text of your own, such as `approval-bot/2.1`.
        public static func custom(_ value: String) -> Self { Self(value: value) }
    }

    /// Through which proxy requests go.
    public struct Proxy: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        enum Kind: Hashable { case none, environment, url(String) }

        let kind: Kind

        /// No proxy, whatever the environment says.
        public static let none = Self(kind: .none)
        /// The proxy named by `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` in the environment.
        public static let environment = Self(kind: .environment)
        /// The proxy at `url`, such as `http://user:password@proxy.example.com:3128` or `socks5h://127.0.0.1:1080`.
        public static func url(_ url: String) -> Self { Self(kind: .url(url)) }

        /// The kind alone: the URL may hold a password.
        public var description: String {
            switch self.kind {
            case .none: "none"
            case .environment: "environment"
            case .url: "url"
            }
        }
        /// Nothing to look into.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }
}

extension CurlTransport.Configuration {
    /// Refuses what could only fail later, at every request.
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
        try self.tls.validate()
    }
}
