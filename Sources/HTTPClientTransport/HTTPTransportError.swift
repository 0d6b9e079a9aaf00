/// Why a request got no whole answer. It holds no header, body or URL, so it may be printed anywhere.
public struct HTTPTransportError: Error, Hashable, CustomStringConvertible {
    /// The kind of failure. A struct, so that a new kind breaks nobody's `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name of the kind.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// The transport's configuration cannot be used: an unreadable file, a malformed pin, a limit below one.
        public static let invalidConfiguration = Self("invalidConfiguration")
        /// The URL or a header cannot be used. Nothing was sent.
        public static let invalidRequest = Self("invalidRequest")
        /// The host's name could not be resolved, or nobody accepted the connection.
        public static let connectionFailed = Self("connectionFailed")
        /// The connection ended before the whole answer was there.
        public static let connectionLost = Self("connectionLost")
        /// Connecting, or the whole exchange, took longer than allowed.
        public static let timeout = Self("timeout")
        /// The server's certificate or key was not accepted, or TLS failed in another way.
        public static let tlsFailed = Self("tlsFailed")
        /// The answer is not HTTP.
        public static let invalidResponse = Self("invalidResponse")
        /// The body is larger than the transport accepts.
        public static let responseTooLarge = Self("responseTooLarge")
        /// The transport was shut down.
        public static let shutdown = Self("shutdown")
    }

    /// The kind of failure.
    public let code: Code
    /// More for people, from the library underneath; never anything that was sent or received.
    public let detail: String

    /// The HTTP status, when the head of the answer was there already.
    public let httpStatus: Int?

    /// Creates an error.
    public init(_ code: Code, detail: String = "", httpStatus: Int? = nil) {
        self.code = code
        self.detail = detail
        self.httpStatus = httpStatus
    }

    /// The code and the detail.
    public var description: String { self.detail.isEmpty ? "\(self.code)" : "\(self.code): \(self.detail)" }
}
