/// Sends requests with libcurl, from one thread of its own, over connections that are kept and reused.
///
/// Make one transport for the process and share it: however many requests are waiting, there is one engine thread and
/// a bounded number of connections, and HTTP/2 is used where the server offers it. The thread starts with the first
/// request. End it with ``shutdown()``; a transport that is merely dropped ends its thread by itself.
///
/// Redirects are not followed and cookies are not kept: the answer to the request is what the server said to it.
///
/// ## A request is delivered once
/// The server may close a kept connection at any moment. Connections that it has closed are noticed before they are
/// reused, and idle ones are given up early (``Configuration/idleConnectionLifetime``). What remains is the connection
/// that breaks while the request is on its way: such a request is sent again only when nothing of it had left, or when
/// it is marked `HTTPRequest.isRepeatable`; otherwise the call fails with
/// ``HTTPTransportError/Code/connectionLost``.
///
/// ## Processes
/// Connections are closed in programs that this process starts (close-on-exec). A transport does not survive a
/// `fork` without `exec`: the child has no engine thread and must make a transport of its own.
public final class CurlTransport: HTTPTransport {
    /// What the transport was created with.
    public let configuration: Configuration

    let engine: Engine

    /// Creates a transport. Nothing is opened or started before the first request.
    ///
    /// - Throws: ``HTTPTransportError`` with the code ``HTTPTransportError/Code/invalidConfiguration`` when an option
    ///   cannot be used, such as a file that cannot be read.
    public init(configuration: Configuration = Configuration()) throws {
        try configuration.validate()
        self.configuration = configuration
        self.engine = try Engine(configuration: configuration)
    }

    deinit { self.engine.stop() }

    /// Whether there are pins, an authority or a client certificate, none of which means anything over `http`.
    public var requiresTLS: Bool { self.configuration.tls.isExplicit }

    /// Sends `request` and waits for the whole answer, whatever its status.
    ///
    /// The body arrives decompressed; `Content-Encoding` and `Content-Length` describe what was on the wire. Cancelling
    /// the calling task ends the call at once and takes the transfer off the wire.
    ///
    /// - Throws: ``HTTPTransportError``, or `CancellationError` when the task was cancelled. With
    ///   ``HTTPTransportError/Code/invalidConfiguration``, before anything is sent, for an `http` URL when ``requiresTLS``.
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let transfer = try Transfer(request, defaultTimeout: self.configuration.timeout)
        guard !self.requiresTLS || transfer.origin.utf8.starts(with: "https:".utf8) else {
            let detail = "a pin, an authority or a client certificate means nothing over http"
            throw HTTPTransportError(.invalidConfiguration, detail: detail)
        }
        return try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { self.engine.start(transfer, resuming: $0) }
        } onCancel: {
            self.engine.cancel(transfer)
        }
    }

    /// Ends every pending call with ``HTTPTransportError/Code/shutdown``, closes the connections, and returns when the
    /// engine's thread has ended. Later calls of ``send(_:)`` fail with the same error.
    public func shutdown() async {
        self.engine.stop()
        await self.engine.waitUntilStopped()
    }
}
