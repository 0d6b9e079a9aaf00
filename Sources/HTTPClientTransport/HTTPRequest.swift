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
    /// The headers, sent in the order given.
    public var headers: HTTPHeaders
    /// The body; `nil` sends none.
    public var body: [UInt8]?
    /// The longest time from the call to the whole response; `nil` leaves it to the transport.
    public var timeout: Duration?
    /// Indicates whether the server may receive this request twice without harm; `false` by default.
    ///
    /// A reused connection may break just as the request is sent, and then it is unknown whether the server received it. A repeatable request is sent again on a fresh connection; any other one fails with
    /// ``HTTPTransportError/Code/connectionLost``. A request that carries a signature or a one-time value is never
    /// repeatable, whatever its method: a copy of it is a replay.
    public var isRepeatable: Bool

    /// The moment from which on the request must not leave any more; `nil` is none.
    ///
    /// Looked at right before the first byte is written, on a connection that stands. The clock goes on while the machine is
    /// suspended, and while the process is stopped.
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
