/// Sends HTTP requests. Implement it to use another HTTP client than ``CurlTransport``, or to script responses in tests.
public protocol HTTPTransport: Sendable {
    /// Sends `request` and returns the complete response, whatever its status. Cancellation ends the transfer.
    ///
    /// - Throws: ``HTTPTransportError`` without a complete response, or `CancellationError`.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse

    /// Indicates whether the transport has pins, a certificate authority or a client certificate, which an `http` URL would
    /// ignore. Default: `false`.
    var requiresTLS: Bool { get }

    /// The timeout of requests without `HTTPRequest.timeout`. Default: 20 s. A client uses it for its requests, and expects none
    /// to arrive later.
    var timeout: Duration { get }
}

extension HTTPTransport {
    /// `false`.
    public var requiresTLS: Bool { false }

    /// 20 s.
    public var timeout: Duration { .seconds(20) }
}
