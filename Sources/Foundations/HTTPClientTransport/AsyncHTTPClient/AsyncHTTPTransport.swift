#if AsyncHTTPClient
    public import AsyncHTTPClient
    import Basics
    import NIOCore
    import NIOHTTP1

    /// A transport over an `HTTPClient` that the application has already, with its connections, proxy, HTTP/2 and TLS.
    ///
    /// ```swift
    /// var settings = HTTPClient.Configuration()
    /// settings.redirectConfiguration = .disallow
    /// let http = HTTPClient(configuration: settings)
    /// configuration.transport = AsyncHTTPTransport(client: http)
    /// ```
    ///
    /// The client must not follow redirects, as it does by default: a redirected request would show its signature to another
    /// address. A response after a redirect is refused with ``HTTPTransportError/Code/connectionLost``.
    ///
    /// A request is sent once. Only one that is `HTTPRequest.isRepeatable` is sent again, once, after a lost connection. If a
    /// failure does not prove that nothing was sent, its code says that the server may have received the request. The
    /// application shuts the client down, after `MobileTokenClient.shutdown()`.
    public struct AsyncHTTPTransport: HTTPTransport {
        private let client: HTTPClient
        private let maximumResponseSize: Int

        /// The timeout of requests without `HTTPRequest.timeout`. It covers connecting, and the response to its last byte.
        public let timeout: Duration
        /// Indicates whether the client has pins, a certificate authority or a client certificate, as its creator says.
        public let requiresTLS: Bool

        /// Creates a transport.
        ///
        /// - Parameters:
        ///   - client: The application's client. `HTTPClient.Configuration.decompression` should have a limit.
        ///   - timeout: The longest time of a request. Default: 20 s.
        ///   - maximumResponseSize: The largest response body in bytes, after decompression. Default: 8 MiB.
        ///   - requiresTLS: `true` refuses `http` URLs, which the client's pins and authorities would ignore.
        public init(
            client: HTTPClient,
            timeout: Duration = .seconds(20),
            maximumResponseSize: Int = 8 * 1024 * 1024,
            requiresTLS: Bool = false
        ) {
            self.client = client
            self.timeout = timeout
            self.maximumResponseSize = maximumResponseSize
            self.requiresTLS = requiresTLS
        }

        /// Sends `request` and returns the complete response, whatever its status.
        ///
        /// - Throws: ``HTTPTransportError`` or `CancellationError`.
        public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            let origin = try request.origin()
            try request.validateHeaders()
            guard !self.requiresTLS || origin.utf8.starts(with: "https:".utf8) else {
                throw HTTPTransportError(
                    .invalidConfiguration,
                    detail: "the client's TLS options have no effect over http"
                )
            }
            let timeout = request.timeout ?? self.timeout
            guard timeout > .zero else { throw HTTPTransportError(.timeout, detail: "the timeout is not positive") }
            let deadline = ContinuousClock.now + timeout.bounded
            do {
                return try await self.exchange(request, until: deadline)
            } catch let error as HTTPTransportError {
                guard request.isRepeatable, error.code == .connectionLost, deadline > .now else { throw error }
                return try await self.exchange(request, until: deadline)
            }
        }

        /// Makes one attempt. The client's own deadline ends with the head of the response, so time is kept here.
        private func exchange(
            _ request: HTTPRequest,
            until deadline: ContinuousClock.Instant
        ) async throws -> HTTPResponse {
            try Task.checkCancellation()
            if let end = request.notAfter, end <= .now { throw HTTPTransportError(.tooLate) }
            return try await withThrowingTaskGroup(of: HTTPResponse?.self) { group in
                group.addTask { try await self.attempt(request, until: deadline) }
                group.addTask {
                    try await ContinuousClock().sleep(until: deadline)
                    return nil
                }
                defer { group.cancelAll() }
                do {
                    guard let first = try await group.next(), let response = first else {
                        throw HTTPTransportError(.timeout, detail: "no complete response came in time")
                    }
                    return response
                } catch {
                    try Task.checkCancellation()
                    throw error
                }
            }
        }

        private func attempt(
            _ request: HTTPRequest,
            until deadline: ContinuousClock.Instant
        ) async throws -> HTTPResponse {
            var status: Int?
            do {
                let left = TimeAmount(ContinuousClock.now.duration(to: deadline))
                let response = try await self.client.execute(HTTPClientRequest(request), deadline: .now() + left)
                status = Int(response.status.code)
                guard response.history.count <= 1 else {
                    throw HTTPTransportError(
                        .connectionLost,
                        detail: "the client followed a redirect; its redirectConfiguration must be .disallow"
                    )
                }
                let body = try await response.body.collect(upTo: self.maximumResponseSize)
                try Task.checkCancellation()
                return HTTPResponse(
                    status: Int(response.status.code),
                    headers: HTTPHeaders(
                        response.headers.map { name, value in
                            let trimmed = value.utf8.trimming { $0 == 0x20 || $0 == 0x09 }
                            return HTTPHeaders.Field(name: name, value: String(Substring(trimmed)))
                        }
                    ),
                    body: Array(body.readableBytesView)
                )
            } catch {
                throw HTTPTransportError(asyncHTTPClient: error, status)
            }
        }
    }

    extension HTTPClientRequest {
        fileprivate init(_ request: HTTPRequest) {
            self.init(url: request.url)
            self.method = .init(rawValue: request.method.rawValue)
            for field in request.headers.fields { self.headers.add(name: field.name, value: field.value) }
            guard let body = request.body else {
                if request.method != .get { self.body = .bytes(ByteBuffer()) }
                return
            }
            if let end = request.notAfter {
                self.body = .stream(BodyInTime(bytes: body, end: end), length: .known(Int64(body.count)))
            } else {
                self.body = .bytes(ByteBuffer(bytes: body))
            }
        }
    }

    /// A body that is withheld once it is too late. The client asks for it when it has written the head, without which the server
    /// cannot carry the request out.
    private struct BodyInTime: AsyncSequence, Sendable {
        let bytes: [UInt8]
        let end: ContinuousClock.Instant

        struct Iterator: AsyncIteratorProtocol {
            var rest: BodyInTime?

            mutating func next() async throws -> ByteBuffer? {
                guard let body = self.rest else { return nil }
                self.rest = nil
                guard body.end > .now else { throw HTTPTransportError(.tooLate).afterFirstByte }
                return ByteBuffer(bytes: body.bytes)
            }
        }

        func makeAsyncIterator() -> Iterator { Iterator(rest: self) }
    }
#endif
