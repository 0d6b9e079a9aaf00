package import EmulatorMessages
package import PowerAuthCrypto

/// An HTTP/1.1 server: one thread for all sockets, a task for each request.
///
/// What a client can make it hold is bounded: connections, header bytes, body bytes of one request and of all together,
/// and the time from one request to the end of the next.
package final class HTTPServer: Sendable {
    package struct Limits: Sendable {
        /// Clients beyond these wait to be accepted.
        package var connections: UInt32 = 4096
        /// Of one request.
        package var headerBytes = 32 * 1024
        /// Of one request; more are refused with 414. The library needs 64 bytes of ``headerBytes`` for each, and never
        /// responds to a request whose parameters do not fit.
        package var queryParameters = 256
        /// Of one request; a longer body is refused with 413.
        package var bodyBytes = 1 << 20
        /// Of a request that ``takesLargeBody`` names.
        package var largeBodyBytes = 192 << 20
        /// Returns whether a request, of which the head is there, may have a body of ``largeBodyBytes``.
        package var takesLargeBody: @Sendable (ReceivedRequest) -> Bool = { _ in false }
        /// Of all requests that are being received or responded to; beyond, a request is refused with 503.
        package var totalBodyBytes = 256 << 20
        /// The part of a refused body that is read and dropped, so that the client gets to read why, before the connection
        /// is closed.
        package var droppedBytes = 16 << 20
        /// For a client to send its next request whole, and to read its response whole.
        package var patience = Duration.seconds(60)

        package init() {}

        /// Returns the longest body of a request.
        func bodyBytes(of request: ReceivedRequest) -> Int {
            self.takesLargeBody(request) ? self.largeBodyBytes : self.bodyBytes
        }
    }

    package let host: String
    package let port: UInt16
    package let isLoopback: Bool
    /// Indicates whether it speaks TLS.
    package let isSecure: Bool
    private let context: ServerContext
    private let requests: AsyncStream<(ServerExchange, ReceivedRequest)>
    private let daemon: ServerDaemon

    /// Listens. Requests wait for ``run(_:)``.
    ///
    /// - Parameters:
    ///   - certificate: The certificate that the server shows in TLS handshakes; `nil` serves plain HTTP.
    ///   - clock: The clock that measures how long the server waits for clients.
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
