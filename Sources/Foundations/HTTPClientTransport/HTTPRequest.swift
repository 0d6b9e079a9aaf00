/// An HTTP request.
public struct HTTPRequest: Sendable, Hashable {
    /// The HTTP methods that PowerAuth servers use.
    public enum Method: String, Sendable, Hashable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"
    }

    /// The HTTP method.
    public var method: Method
    /// An absolute `http` or `https` URL.
    public var url: String
    /// The headers in sending order.
    public var headers: HTTPHeaders
    /// The body; `nil` for none.
    public var body: [UInt8]?
    /// The longest time from the call to the complete response; `nil` for the transport's default.
    public var timeout: Duration?
    /// Indicates whether the server may receive this request twice. Default: `false`.
    ///
    /// If a reused connection breaks during a request, it is unknown whether the server received it. A repeatable request is sent
    /// again on a new connection; others fail with ``HTTPTransportError/Code/connectionLost``. A request with a signature or a
    /// one-time value is never repeatable, whatever its method: a copy is a replay.
    public var isRepeatable: Bool

    /// The time from which on the request must not be sent; `nil` for no limit. Checked just before the first byte is written.
    /// The clock includes suspensions of the machine and the process.
    public var notAfter: ContinuousClock.Instant?

    /// Creates a request.
    public init(
        _ method: Method = .post,
        url: String,
        headers: HTTPHeaders = [:],
        body: [UInt8]? = nil,
        timeout: Duration? = nil,
        isRepeatable: Bool = false,
        notAfter: ContinuousClock.Instant? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.isRepeatable = isRepeatable
        self.notAfter = notAfter
    }
}
