package import EmulatorMessages
package import PowerAuthCrypto

/// An HTTP/1.1 server: one thread for all sockets, a task for each request.
///
/// A client's demands are limited: connections, header bytes, body bytes per request and in total, and the time from one request
/// to the end of the next.
package final class HTTPServer: Sendable {
    package struct Limits: Sendable {
        /// The maximum number of connections. Further clients wait to be accepted.
        package var connections: UInt32 = 4096
        /// The maximum header size of a request.
        package var headerBytes = 32 * 1024
        /// The maximum number of a request's query parameters; more are refused with 414. The library needs 64 bytes of
        /// ``headerBytes`` for each, and never responds if they do not fit.
        package var queryParameters = 256
        /// The maximum body size of a request; a longer body is refused with 413.
        package var bodyBytes = 4 << 20
        /// The maximum body size of requests selected by ``takesLargeBody``.
        package var largeBodyBytes = 192 << 20
        /// Returns whether a request with this head may have a body of ``largeBodyBytes``.
        package var takesLargeBody: @Sendable (ReceivedRequest) -> Bool = { _ in false }
        /// The maximum total size of the bodies of all current requests; beyond, a request is refused with 503.
        package var totalBodyBytes = 256 << 20
        /// The size of a refused body that is read and dropped, so that the client reads the reason before the connection is
        /// closed.
        package var droppedBytes = 16 << 20
        /// The time for a client to send a whole request, and to read a whole response.
        package var patience = Duration.seconds(60)

        package init() {}

        /// Returns the maximum body size of a request.
        func bodyBytes(of request: ReceivedRequest) -> Int {
            self.takesLargeBody(request) ? self.largeBodyBytes : self.bodyBytes
        }
    }

    package let host: String
    package let port: UInt16
    package let isLoopback: Bool
    package let isSecure: Bool
    private let context: ServerContext
    private let requests: AsyncStream<(ServerExchange, ReceivedRequest)>
    private let daemon: ServerDaemon

    /// Starts listening. Requests wait for ``run(_:)``.
    ///
    /// - Parameters:
    ///   - certificate: The server's TLS certificate; `nil` serves plain HTTP.
    ///   - clock: The clock for waiting on clients.
    package init(
        host: String,
        port: UInt16,
        certificate: SelfSignedCertificate? = nil,
        limits: Limits = Limits(),
        clock: any Clock<Duration> = ContinuousClock()
    ) throws(ListeningError) {
        let socket = try ListeningSocket(host: host, port: port)
        let (requests, sink) = AsyncStream.makeStream(of: (ServerExchange, ReceivedRequest).self)
        let context = ServerContext(limits: limits, isSecure: certificate != nil, received: sink, clock: clock)
        self.daemon = try ServerDaemon(socket: socket, certificate: certificate, context: context)
        self.context = context
        self.requests = requests
        self.host = socket.host
        self.port = socket.port
        self.isLoopback = socket.isLoopback
        self.isSecure = certificate != nil
    }

    /// The number of connected clients.
    package var connectionCount: Int { self.context.connectionCount }

    /// Serves until the task is canceled; then ends every connection and returns when the last one is closed.
    package func run(_ respond: @escaping @Sendable (ReceivedRequest) async -> ServerResponse) async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.context.endOverdue() }
            for await (exchange, request) in self.requests {
                group.addTask { await Self.serve(request, of: exchange, with: respond) }
            }
            group.cancelAll()
            self.context.endAll()
        }
        await self.daemon.stop()
    }

    private static func serve(
        _ request: ReceivedRequest,
        of exchange: ServerExchange,
        with respond: @Sendable (ReceivedRequest) async -> ServerResponse
    ) async {
        let response = await respond(request)
        guard case .produced(_, let produce) = response.body else { return exchange.respond(with: response) }
        let stream = BodyStream(connection: exchange.connection)
        exchange.respond(with: response, stream: stream)
        await produce(stream)
        stream.finish()
    }
}
