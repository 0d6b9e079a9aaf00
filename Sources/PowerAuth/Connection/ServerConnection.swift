import Basics
import Foundation
import HTTPClientTransport
import PowerAuthProtocol
import Synchronization

/// The connection that all activations of one client share: the way to the server, its time and the application's keys.
final class ServerConnection: Sendable {
    /// The address below which `/api/…` is found, without a slash at its end.
    let baseURL: String
    /// The address below which `/pa/…` is found: ``baseURL``, unless a server keeps the two apart.
    let powerAuthURL: String
    let application: SDKConfiguration
    let transport: any HTTPTransport
    let store: ActivationStore
    let configuration: MobileTokenClient.Configuration
    let time: ServerTime
    let clocks: LocalClocks
    /// Decides when requests may be sent, where a fleet is a guest of the server.
    let limiter = Mutex<(any RequestLimiter)?>(nil)
    /// Work that must end before the connections and the store are closed.
    let unfinished = UnfinishedWork()
    private let userAgent: String

    /// Creates a connection. Mistakes are reported here, by name, and not at the first request.
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
        self.timeout = (configuration.timeout ?? transport.timeout).bounded
        self.arrivalTimeout = self.timeout + configuration.proxyTimeout.bounded
        self.clocks = LocalClocks(monotonic: configuration.clock, wall: configuration.wallClock)
        self.time = ServerTime(clocks: self.clocks)
    }

    /// The longest that a request may take.
    let timeout: Duration
    /// The time after its beginning in which a request may still reach the server: it may leave at the end of its own time, and be
    /// kept by a proxy from then on.
    let arrivalTimeout: Duration

    var randomness: Randomness { self.configuration.randomness }
    var observer: (any MobileTokenObserver)? { self.configuration.observer }
    var derivations: DerivationQueue { self.configuration.derivations }

    /// Posts a JSON body once a request may be sent, and returns the body of a success with its status; see ``ResponseEnvelope``.
    ///
    /// - Parameters:
    ///   - activationID: The activation that asks, for the observer; `nil` where there is none.
    ///   - isRepeatable: `true` if the server may see the request twice without harm, for the transport to know what to
    ///     do when a kept connection breaks.
    func post(
        _ path: String,
        for activationID: String?,
        headers: HTTPHeaders = [:],
        body: [UInt8],
        isRepeatable: Bool = false
    ) async throws -> ChannelResponse {
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
    ///   - timeout: The longest that it may take, where that is less than for others.
    ///   - notAfter: The moment from which on it must not leave any more.
    ///   - permit: The one that the caller has waited for; `nil` when nothing limited requests then.
    func post(
        _ path: String,
        for activationID: String?,
        headers: HTTPHeaders,
        body: [UInt8],
        isRepeatable: Bool = false,
        timeout: Duration? = nil,
        notAfter: ContinuousClock.Instant? = nil,
        with permit: RequestPermit?
    ) async throws -> ChannelResponse {
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
            throw error
        }
        return try exchange.get()
    }

    /// Waits until one request may be sent, for no longer than requests may take.
    ///
    /// - Returns: `nil` when nothing limits requests.
    func permit() async throws -> RequestPermit? {
        guard let limiter = self.limiter.withLock({ $0 }) else { return nil }
        return RequestPermit(limiter: limiter, number: try await limiter.enter(for: self.timeout))
    }

    /// Indicates whether requests may have to wait for a permit.
    var isLimited: Bool { self.limiter.withLock { $0 != nil } }

    private func url(of path: String) -> String {
        (path.utf8.starts(with: "/pa/".utf8) ? self.powerAuthURL : self.baseURL) + path
    }

    /// Asks for something that changes nothing: posts `{"requestObject": …}` and decodes `responseObject`.
    ///
    /// - Parameters:
    ///   - activationID: The activation that asks, for the observer; `nil` where there is none.
    ///   - read: Checks what was decoded and makes a value of it. Its errors get the response's status.
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

    /// The response to a request, and the content of its envelope or the error that it stands for.
    private struct Exchange {
        let response: HTTPResponse
        let body: Result<[UInt8], MobileTokenError>

        func get() throws(MobileTokenError) -> ChannelResponse {
            ChannelResponse(try self.body.get(), httpStatus: self.response.status)
        }

        /// Returns what an observer is told of it.
        func result(after duration: Duration) -> Observed.Request.Result {
            switch self.body {
            case .success: .init(.succeeded, httpStatus: self.response.status, duration: duration)
            case .failure(let error): .init(error, duration: duration)
            }
        }
    }

    /// Sends a request, and reports it to the observer.
    private func send(_ request: HTTPRequest, to path: String, for activationID: String?) async throws -> Exchange {
        guard let observer = self.observer else { return try await self.sendUnobserved(request) }
        let observation = Observed.Request(of: activationID, to: path)
        let start = self.clocks.monotonic
        observer.requestStarted(observation)
        do {
            let exchange = try await self.sendUnobserved(request)
            let duration = self.clocks.monotonic - start
            observer.requestFinished(observation, with: exchange.result(after: duration))
            return exchange
        } catch {
            observer.requestFinished(observation, with: .init(error, duration: self.clocks.monotonic - start))
            throw error
        }
    }

    private func sendUnobserved(_ request: HTTPRequest) async throws -> Exchange {
        let response: HTTPResponse
        do {
            response = try await self.transport.send(request)
        } catch {
            throw MobileTokenError.transport(error)
        }
        return Exchange(
            response: response,
            body: Result { () throws(MobileTokenError) in
                try ResponseEnvelope.body(of: response, now: self.clocks.reading.wall)
            }
        )
    }
}

// MARK: - Time

extension ServerConnection {
    /// Asks for the server's time unless it is known already.
    ///
    /// A server without this endpoint is no reason to fail: the local clock may well be right. It is not asked again until
    /// something shows that the clock is wrong.
    func synchronizeTime() async throws {
        do {
            try await self.time.synchronize {
                let version = self.configuration.version
                let request = EndpointRequest(.serverStatus, in: version)
                let path = try request.endpoint.path(in: version)
                let response = try await self.post(path, for: nil, body: request.body, isRepeatable: true)
                return try Wire.decode(Wire.Response<ServerStatus>.self, from: response, of: path).responseObject
                    .serverTime
            }
        } catch let error as MobileTokenError where error.httpStatus != nil || error.code == .invalidResponse {
            self.time.trustLocalClock()
        }
    }

    /// Asks for the server's time unless it is known already, but does not insist: a call that can be made without it must
    /// not fail because this one endpoint cannot be reached.
    ///
    /// What is left to the local clock then has another judge: the server checks a token's timestamp, and whether an operation
    /// has expired (``ServerTime/measuredDate`` is `nil`, so nothing is judged here). After a failure nothing is asked for a
    /// minute, so that an endpoint that never answers does not delay every call by its timeout.
    ///
    /// - Throws: `CancellationError` alone.
    func tryToSynchronizeTime() async throws {
        guard self.time.mayBeAskedFor else { return }
        do {
            try await self.synchronizeTime()
        } catch is MobileTokenError {
            self.time.postpone()
        }
    }

    private struct ServerStatus: Decodable {
        let serverTime: Int64
    }
}
