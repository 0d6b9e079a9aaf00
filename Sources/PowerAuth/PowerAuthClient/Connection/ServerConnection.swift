import Basics
import HTTPClientTransport
import MobileTokenObserving
import PowerAuthProtocol
import Synchronization

/// The server connection that a client's activations share, with the server's time and the application's keys.
final class ServerConnection: Sendable {
    /// The address above `/api/…`, without a trailing slash.
    let baseURL: String
    /// The address above `/pa/…`: ``baseURL``, unless configured separately.
    let powerAuthURL: String
    let application: SDKConfiguration
    let transport: any HTTPTransport
    let store: ActivationStore
    let configuration: MobileTokenClient.Configuration
    let observer: (any MobileTokenObserver)?
    let time: ServerTime
    let clocks: LocalClocks
    /// Decides when requests may be sent, in a fleet.
    let limiter = Mutex<(any RequestLimiter)?>(nil)
    /// Work that must end before connections and store are closed.
    let unfinished = UnfinishedWork()
    private let userAgent: String

    /// Creates a connection, and validates the configuration.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidConfiguration``.
    init(
        baseURL: String,
        application: SDKConfiguration,
        transport: any HTTPTransport,
        store: ActivationStore,
        configuration: MobileTokenClient.Configuration
    ) throws(MobileTokenError) {
        let rule = BaseURLRule(
            allowsInsecureHTTP: configuration.allowsInsecureHTTP,
            requiresTLS: transport.requiresTLS
        )
        self.baseURL = try rule.configured(baseURL, "baseURL")
        self.powerAuthURL =
            if let url = configuration.powerAuthURL {
                try rule.configured(url, "powerAuthURL")
            } else {
                self.baseURL
            }
        self.application = application
        self.transport = transport
        self.store = store
        try configuration.checkOfflineCodeDigits()
        self.userAgent = try configuration.validatedUserAgent()
        self.configuration = configuration
        self.observer = configuration.everyObserver
        self.timeout = (configuration.timeout ?? transport.timeout).bounded
        self.arrivalTimeout = configuration.arrivalTimeout ?? (self.timeout + configuration.proxyTimeout.bounded)
        self.clocks = LocalClocks(monotonic: configuration.clock, wall: configuration.wallClock)
        self.time = ServerTime(clocks: self.clocks)
    }

    let timeout: Duration
    /// The time after its start in which a request may still reach the server: the timeout plus the time a proxy may hold it.
    let arrivalTimeout: Duration

    var randomness: Randomness { self.configuration.randomness }
    var derivations: DerivationQueue { self.configuration.derivations }

    /// Waits for a permit, posts a JSON body, and returns the body of a success; see ``ResponseEnvelope``.
    ///
    /// - Parameters:
    ///   - activationID: The activation, for the observer; `nil` if there is none.
    ///   - isRepeatable: `true` if the transport may resend the request after a kept connection breaks.
    func post(
        _ path: String,
        for activationID: String?,
        headers: HTTPHeaders = [:],
        body: [UInt8],
        isRepeatable: Bool = false
    ) async throws -> ServerResponse {
        try await self.post(
            path,
            for: activationID,
            headers: headers,
            body: body,
            isRepeatable: isRepeatable,
            with: try await self.permit()
        )
    }

    /// Posts a JSON body at once.
    ///
    /// - Parameters:
    ///   - timeout: A shorter timeout than the client's.
    ///   - notAfter: The time after which the request must not be sent.
    ///   - permit: The caller's permit; `nil` if requests were not limited.
    func post(
        _ path: String,
        for activationID: String?,
        headers: HTTPHeaders,
        body: [UInt8],
        isRepeatable: Bool = false,
        timeout: Duration? = nil,
        notAfter: ContinuousClock.Instant? = nil,
        with permit: RequestPermit?
    ) async throws -> ServerResponse {
        var request = HTTPRequest(
            .post,
            url: self.url(of: path),
            headers: headers,
            body: body,
            timeout: timeout ?? self.timeout,
            isRepeatable: isRepeatable,
            notAfter: notAfter
        )
        request.headers.add(name: "Content-Type", value: "application/json")
        request.headers.add(name: "Accept", value: "application/json")
        request.headers.add(name: "User-Agent", value: self.userAgent)
        permit?.begin()
        let exchange: Exchange
        do {
            exchange = try await self.send(request, to: path, for: activationID)
            permit?.end(RequestOutcome(exchange.response, now: self.clocks.reading.wall))
        } catch {
            permit?.end(RequestOutcome(error))
            throw MobileTokenError.ofCall(path, error)
        }
        do { return try exchange.get(path) } catch { throw MobileTokenError.ofCall(path, error) }
    }

    /// Waits for a permit to send one request; `nil` if requests are not limited.
    func permit() async throws -> RequestPermit? {
        guard let limiter = self.limiter.withLock({ $0 }) else { return nil }
        return RequestPermit(limiter: limiter, number: try await limiter.enter(for: self.timeout))
    }

    var isLimited: Bool { self.limiter.withLock { $0 != nil } }

    private func url(of path: String) -> String {
        (path.utf8.starts(with: "/pa/".utf8) ? self.powerAuthURL : self.baseURL) + path
    }

    /// Makes a request that changes nothing: posts `{"requestObject": …}` and decodes `responseObject`.
    ///
    /// - Parameters:
    ///   - activationID: The activation, for the observer; `nil` if there is none.
    ///   - read: Validates and converts the decoded value. Its errors get the response's status.
    func ask<Request: Encodable, Response: Decodable, Value>(
        _ path: String,
        for activationID: String?,
        _ request: Request,
        returning: Response.Type = Response.self,
        read: (Response) throws -> Value
    ) async throws -> Value {
        let body = try Wire.encode(Wire.Request(requestObject: request))
        let response = try await self.post(path, for: activationID, body: body, isRepeatable: true)
        return try response.mappingErrors {
            try read(Wire.decode(Wire.Response<Response>.self, from: response, of: path).responseObject)
        }
    }

    /// A response, and its body or the error that it represents.
    private struct Exchange {
        let response: HTTPResponse
        let body: Result<[UInt8], MobileTokenError>

        func get(_ path: String) throws(MobileTokenError) -> ServerResponse {
            var response = ServerResponse(try self.body.get(), httpStatus: self.response.status)
            response.path = path
            return response
        }

        func result(after duration: Duration) -> MobileTokenObservation.Request.Result {
            switch self.body {
            case .success: .init(.succeeded, httpStatus: self.response.status, duration: duration)
            case .failure(let error): .init(error, duration: duration)
            }
        }
    }

    /// Sends a request, and reports it to the observer.
    private func send(_ request: HTTPRequest, to path: String, for activationID: String?) async throws -> Exchange {
        guard let observer = self.observer else {
            return try await self.sendUnobserved(request, to: path, for: activationID)
        }
        let observation = MobileTokenObservation.Request(of: activationID, to: path)
        let start = self.clocks.monotonic
        observer.requestStarted(observation)
        do {
            let exchange = try await self.sendUnobserved(request, to: path, for: activationID)
            let duration = self.clocks.monotonic - start
            observer.requestFinished(observation, with: exchange.result(after: duration))
            return exchange
        } catch {
            observer.requestFinished(observation, with: .init(error, duration: self.clocks.monotonic - start))
            throw error
        }
    }

    private func sendUnobserved(
        _ request: HTTPRequest,
        to path: String,
        for activationID: String?
    ) async throws -> Exchange {
        let response: HTTPResponse
        do {
            response = try await self.sendTraced(request, for: activationID)
        } catch {
            throw MobileTokenError.transport(error)
        }
        return Exchange(
            response: response,
            body: Result { () throws(MobileTokenError) in
                try ResponseEnvelope.body(of: response, to: path, now: self.clocks.reading.wall)
            }
        )
    }
}

// MARK: - Time

extension ServerConnection {
    /// Fetches the server's time unless it is known. Without this endpoint the local clock is trusted until evidence shows that
    /// it is wrong.
    func synchronizeTime() async throws {
        do {
            try await self.time.synchronize { try await self.status().serverTime }
        } catch let error as MobileTokenError where error.httpStatus != nil || error.code == .invalidResponse {
            self.time.trustLocalClock()
        }
    }

    /// Fetches the server's time unless it is known, but ignores failures of this optional endpoint. The server then checks token
    /// timestamps and expired operations itself; ``ServerTime/measuredDate`` is `nil`, so nothing is checked here. After a
    /// failure the endpoint is skipped for a minute, so that its timeout does not delay every call.
    ///
    /// - Throws: Only `CancellationError`.
    func tryToSynchronizeTime() async throws {
        guard self.time.mayBeAskedFor else { return }
        do {
            try await self.synchronizeTime()
        } catch is MobileTokenError {
            self.time.postpone()
        }
    }

    func release() async throws -> ServerRelease? {
        try await self.status().application?.version.flatMap { ServerRelease($0) }
    }

    private func status() async throws -> ServerStatus {
        let version = self.configuration.version
        let request = EndpointRequest(.serverStatus, in: version)
        let path = try request.endpoint.path(in: version)
        let response = try await self.post(path, for: nil, body: request.body, isRepeatable: true)
        return try Wire.decode(Wire.Response<ServerStatus>.self, from: response, of: path).responseObject
    }

    private struct ServerStatus: Decodable {
        struct Application: Decodable { let version: String? }

        let serverTime: Int64
        let application: Application?
    }
}
