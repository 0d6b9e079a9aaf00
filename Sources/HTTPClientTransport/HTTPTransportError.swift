/// The reason why there is no complete response. It holds no header, body or URL, so it may be logged.
public struct HTTPTransportError: Error, Hashable, CustomStringConvertible {
    /// A kind of failure. A struct, so that a new kind does not break a `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name of the kind.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// The transport's configuration cannot be used: an unreadable file, a malformed pin, a limit below one.
        public static let invalidConfiguration = Self("invalidConfiguration")
        /// The URL or a header cannot be used. Nothing was sent.
        public static let invalidRequest = Self("invalidRequest")
        /// The host name could not be resolved, or there was no connection in the time for it. Nothing was sent.
        public static let connectionFailed = Self("connectionFailed")
        /// The connection ended before the response was complete. The server may have received the request.
        public static let connectionLost = Self("connectionLost")
        /// The exchange took longer than allowed. The server may have received the request.
        public static let timeout = Self("timeout")
        /// The server's certificate or key was not accepted, or TLS failed in another way. Nothing was sent.
        public static let tlsFailed = Self("tlsFailed")
        /// The response is not valid HTTP.
        public static let invalidResponse = Self("invalidResponse")
        /// The body is larger than the transport accepts.
        public static let responseTooLarge = Self("responseTooLarge")
        /// The request's `notAfter` had come before there was a connection. Nothing was sent.
        public static let tooLate = Self("tooLate")
        /// The transport was shut down. Nothing was sent: what was on its way then ended with ``connectionLost``.
        public static let shutdown = Self("shutdown")
    }

    /// The kind of failure.
    public let code: Code
    /// An explanation from the library underneath; never anything that was sent or received. May be empty.
    public let detail: String

    /// The HTTP status, if the head of the response was received.
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
    /// The same failure of a request of which nothing had left: a time that is over then says that nothing was sent.
    var beforeFirstByte: Self {
        self.code == .timeout ? Self(.connectionFailed, detail: "no connection was made in time") : self
    }

    /// The same failure of a request of which some had left: none of the codes that say "nothing was sent" is true then, whatever
    /// the reason was, such as the end of the transport, or memory that ran out while the response was received.
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
