/// Sends one HTTP request and waits for the whole answer.
///
/// An answer of any status is a result; only when there is no whole answer does `send` throw.
public protocol HTTPTransport: Sendable {
    /// Sends `request`. Cancelling the calling task takes the transfer off the wire.
    ///
    /// - Throws: ``HTTPTransportError``, or `CancellationError` when the task was cancelled.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse

    /// Whether this transport was told to check the server, or to show who it is itself, in ways that only TLS has: such as a
    /// pin, an authority or a client certificate. An `http` URL would silently do without.
    var requiresTLS: Bool { get }
}

extension HTTPTransport {
    /// No.
    public var requiresTLS: Bool { false }
}
