/// A transport on libcurl, with one thread of its own and connections that are kept and reused.
///
/// Create one transport for the process and share it: however many requests are waiting, there is one engine thread and
/// a bounded number of connections, and HTTP/2 is used where the server offers it. The thread starts with the first
/// request. End it with ``shutdown()``; a transport that is merely dropped ends its thread by itself.
///
/// Redirects are not followed and cookies are not kept: the response is what the server sent for this request.
///
/// ## A request is delivered once
/// The server may close a kept connection at any moment. Connections that it has closed are noticed before they are
/// reused, and idle ones are closed early (``Configuration/idleConnectionLifetime``). A connection may still break while
/// the request is on its way: such a request is sent again only when nothing of it had left, or when it is marked
/// `HTTPRequest.isRepeatable`; otherwise the call fails with ``HTTPTransportError/Code/connectionLost``.
///
/// ## Processes
/// Connections are closed in programs that this process starts (close-on-exec). A transport does not survive a
/// `fork` without `exec`: the child has no engine thread and must create a transport of its own.
public final class CurlTransport: HTTPTransport {
    /// The configuration that the transport was created with.
    public let configuration: Configuration

    let engine: Engine

    /// Creates a transport. It opens nothing and starts no thread before the first request.
    ///
    /// - Throws: ``HTTPTransportError`` with the code ``HTTPTransportError/Code/invalidConfiguration`` when an option
    ///   cannot be used, such as a file that cannot be read.
    public init(configuration: Configuration = Configuration()) throws {
        try configuration.validate()
        self.configuration = configuration
        self.engine = try Engine(configuration: configuration)
    }

    init(engine: Engine) {
        self.configuration = engine.configuration
        self.engine = engine
    }

    deinit { self.engine.stop() }

    /// Indicates whether there are pins, a certificate authority or a client certificate, which have no effect over `http`.
    public var requiresTLS: Bool { self.configuration.tls.isExplicit }

    /// The ``Configuration/timeout``.
    public var timeout: Duration { self.configuration.timeout }

    /// Sends `request` and returns the complete response, whatever its status.
    ///
    /// The body is decompressed; `Content-Encoding` and `Content-Length` describe what was transferred. Canceling the task
    /// ends the call at once, and the transfer with it. Over HTTP/2, where the connection lives on for others, the server may hear
    /// of it only with what comes next on that connection. A server that takes fewer requests at once than it is sent before it can
    /// say so refuses some; libcurl does not tell that from a connection that broke, so those that may not be repeated fail with
    /// ``HTTPTransportError/Code/connectionLost``.
    ///
    /// - Throws: ``HTTPTransportError``, or `CancellationError` when the task is canceled. With
    ///   ``HTTPTransportError/Code/invalidConfiguration``, before anything is sent, for an `http` URL when ``requiresTLS``.
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let transfer = try Transfer(request, defaultTimeout: self.configuration.timeout)
        guard !self.requiresTLS || transfer.origin.utf8.starts(with: "https:".utf8) else {
            let detail = "a pin, a certificate authority or a client certificate has no effect over http"
            throw HTTPTransportError(.invalidConfiguration, detail: detail)
        }
        return try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { self.engine.start(transfer, resuming: $0) }
        } onCancel: {
            self.engine.cancel(transfer)
        }
    }

    /// Ends all pending calls, closes the connections, and returns when the engine's thread has ended.
    ///
    /// Calls of which nothing was sent end with ``HTTPTransportError/Code/shutdown``, and so do later calls of ``send(_:)``. Calls
    /// that were on their way end with ``HTTPTransportError/Code/connectionLost``: the server may have received them.
    public func shutdown() async {
        self.engine.stop()
        await self.engine.waitUntilStopped()
    }
}
