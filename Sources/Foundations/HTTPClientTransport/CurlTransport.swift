/// A transport based on libcurl, with one thread and reused connections.
///
/// Share one transport in the process: it has one engine thread and a bounded number of connections, and uses HTTP/2 if the
/// server supports it. The thread starts with the first request. End it with ``shutdown()``; a released transport ends its thread
/// too.
///
/// Redirects are not followed and cookies are not kept.
///
/// ## A request is delivered once
/// The server may close a kept connection at any moment. Closed connections are detected before reuse, and idle ones are closed
/// early (``Configuration/idleConnectionLifetime``). If a connection breaks during a request, the request is sent again only if
/// nothing of it was sent, or if it is `HTTPRequest.isRepeatable`. Otherwise the call fails with
/// ``HTTPTransportError/Code/connectionLost``.
///
/// ## Processes
/// Child processes do not inherit connections (close-on-exec). A transport does not survive `fork` without `exec`: the child must
/// create its own.
public final class CurlTransport: HTTPTransport {
    /// The configuration of the transport.
    public let configuration: Configuration

    let engine: Engine

    /// Creates a transport. It opens nothing before the first request.
    ///
    /// - Throws: ``HTTPTransportError`` with ``HTTPTransportError/Code/invalidConfiguration`` for an invalid option, such as an
    ///   unreadable file.
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

    /// Indicates whether there are pins, a certificate authority or a client certificate, which are ineffective over `http`.
    public var requiresTLS: Bool { self.configuration.tls.isExplicit }

    /// The ``Configuration/timeout``.
    public var timeout: Duration { self.configuration.timeout }

    /// Sends `request` and returns the complete response, whatever its status.
    ///
    /// The body is decompressed; `Content-Encoding` and `Content-Length` describe the transferred form. Cancellation ends the
    /// call and the transfer at once; over HTTP/2 the server may learn of it only with the next data on the connection. If a
    /// server refuses requests because too many were sent at once, libcurl reports a broken connection. Those that are not
    /// repeatable then fail with ``HTTPTransportError/Code/connectionLost``.
    ///
    /// - Throws: ``HTTPTransportError`` or `CancellationError`. ``HTTPTransportError/Code/invalidConfiguration``, before anything
    ///   is sent, for an `http` URL if ``requiresTLS``.
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
    /// Calls without any sent data fail with ``HTTPTransportError/Code/shutdown``, as do later calls of ``send(_:)``. Calls in
    /// flight fail with ``HTTPTransportError/Code/connectionLost``: the server may have received them.
    public func shutdown() async {
        self.engine.stop()
        await self.engine.waitUntilStopped()
    }
}
