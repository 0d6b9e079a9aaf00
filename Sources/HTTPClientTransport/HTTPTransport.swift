/// A way to send HTTP requests.
///
/// Implement it to use an HTTP client of your own instead of ``CurlTransport``, or to script responses in tests.
public protocol HTTPTransport: Sendable {
    /// Sends `request` and returns the complete response, whatever its status. Canceling the task ends the transfer.
    ///
    /// - Throws: ``HTTPTransportError`` without a complete response, or `CancellationError` when the task is canceled.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse

    /// Indicates whether the transport is configured with pins, a certificate authority or a client certificate, which an `http` URL
    /// would silently ignore. `false` by default.
    var requiresTLS: Bool { get }

    /// The longest that a request may take which has no `HTTPRequest.timeout` of its own: 20 s by default. A client sends its
    /// requests with it, and counts on none to arrive later.
    var timeout: Duration { get }
}

extension HTTPTransport {
    /// `false`.
    public var requiresTLS: Bool { false }

    /// 20 s.
    public var timeout: Duration { .seconds(20) }
}
