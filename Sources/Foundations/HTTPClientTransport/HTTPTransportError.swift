/// The reason why there is no complete response. It contains no header, body or URL, so it may be logged.
public struct HTTPTransportError: Error, Hashable, CustomStringConvertible {
    /// A kind of failure. A struct, so that a new kind breaks no `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name of the kind.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// The transport's configuration is invalid: an unreadable file, a malformed pin, a limit below one.
        public static let invalidConfiguration = Self("invalidConfiguration")
        /// The URL or a header is invalid. Nothing was sent.
        public static let invalidRequest = Self("invalidRequest")
        /// Name resolution failed, a proxy refused, or connecting timed out. Nothing was sent.
        public static let connectionFailed = Self("connectionFailed")
        /// The connection ended before the response was complete. The server may have received the request.
        public static let connectionLost = Self("connectionLost")
        /// The exchange took longer than allowed. The server may have received the request.
        public static let timeout = Self("timeout")
        /// The server's certificate or key was rejected, or TLS failed otherwise. Nothing was sent.
        public static let tlsFailed = Self("tlsFailed")
        /// The response is not valid HTTP.
        public static let invalidResponse = Self("invalidResponse")
        /// The body exceeds the transport's limit.
        public static let responseTooLarge = Self("responseTooLarge")
        /// The request's `notAfter` passed before a connection was established. Nothing was sent.
        public static let tooLate = Self("tooLate")
        /// The transport was shut down. Nothing was sent; requests in flight failed with ``connectionLost``.
        public static let shutdown = Self("shutdown")
    }

    /// The kind of failure.
    public let code: Code
    /// The underlying library's explanation, without sent or received data; may be empty.
    public let detail: String

    /// The HTTP status, if the response's head was received.
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

extension HTTPTransportError {
    /// Returns the error for an unsent request: a timeout or lost connection becomes a failed connection.
    ///
    /// - Parameter proxyStatus: The HTTP status of a proxy that refused the tunnel.
    func beforeFirstByte(_ proxyStatus: Int?) -> Self {
        switch self.code {
        case .timeout: Self(.connectionFailed, detail: "no connection was made in time")
        case .connectionLost, .connectionFailed, .invalidResponse:
            Self(.connectionFailed, detail: proxyStatus.map { "the proxy answered \($0)" } ?? self.detail)
        default: self
        }
    }

    /// Returns the error for a partly sent request. No code claims that nothing was sent.
    var afterFirstByte: Self {
        switch self.code {
        case .timeout, .invalidResponse, .responseTooLarge, .connectionLost: self
        default:
            Self(
                .connectionLost,
                detail: "\(self.description), while the request was on its way",
                httpStatus: self.httpStatus
            )
        }
    }
}
