import Basics
import Foundation
import HTTPClientTransport
import Synchronization

/// Decides when requests may be sent, to keep a fleet from overloading the server.
package protocol RequestLimiter: AnyObject, Sendable {
    /// Waits until a request may be sent. ``leave(_:_:)`` must follow.
    ///
    /// - Parameter limit: The maximum lifetime of the permit, after which another request gets it.
    /// - Returns: The number of the permit.
    /// - Throws: Only `CancellationError`.
    func enter(for limit: Duration) async throws -> UInt64
    /// Called just before the request is sent.
    func begin(_ permit: UInt64)
    /// Called when the request has ended or will not be sent. Only the first call counts.
    func leave(_ permit: UInt64, _ outcome: RequestOutcome)

    /// Returns whether a refused token may be replaced now, which takes a signed request.
    func mayRenewToken() -> Bool
    /// Called when a replacement token was created and used.
    func recordTokenRenewal(isAccepted: Bool)
}

/// The health of the server, as shown by one request.
package enum RequestOutcome: Equatable, Sendable {
    /// The server works, even if it refused.
    case answered
    /// No response, or one that shows an outage, perhaps with a delay before retrying.
    case failed(retryAfter: Duration?)
    /// The request says nothing about the server.
    case canceled
    /// No request was sent: the permit is free at once.
    case unused
}

/// The right to send one request. Its holder must not wait for another permit or a signing turn.
struct RequestPermit: Sendable {
    let limiter: any RequestLimiter
    let number: UInt64

    func begin() { self.limiter.begin(self.number) }
    func end(_ outcome: RequestOutcome) { self.limiter.leave(self.number, outcome) }
}

extension RequestOutcome {
    init(_ response: HTTPResponse, now: @autoclosure () -> Date) {
        let retryAfter = response.headers["Retry-After"].flatMap { RetryAfter.duration($0, now: now()) }
        let isFailure = response.status >= 500 || response.status == 429
        self = isFailure ? .failed(retryAfter: retryAfter) : .answered
    }

    init(_ error: any Error) {
        let isFailure = (error as? MobileTokenError)?.isPassing ?? false
        self = isFailure ? .failed(retryAfter: nil) : .canceled
    }
}

extension MobileTokenClient {
    /// Installs a limiter for this client's requests, until ``removeLimiter(_:)``.
    ///
    /// - Returns: `false` if another one is installed.
    package func setLimiter(_ limiter: any RequestLimiter) -> Bool {
        self.server.limiter.withLock { current in
            guard current == nil || current === limiter else { return false }
            current = limiter
            return true
        }
    }

    /// Removes the limiter, if it is the installed one.
    package func removeLimiter(_ limiter: any RequestLimiter) {
        self.server.limiter.withLock { if $0 === limiter { $0 = nil } }
    }

    /// The time after sending in which a request may still reach the server.
    package var requestTimeout: Duration { self.server.arrivalTimeout }

    package var serverOrigin: String { self.server.origin }

    /// The time by which the local clock is ahead of the server's (positive) or behind; `nil` before it is known.
    package var clockSkew: Duration? { self.server.clockSkew }
}

extension Activation {
    package nonisolated func serverRelease() async throws -> ServerRelease? { try await self.server.release() }

    package nonisolated var serverOrigin: String { self.server.origin }

    package nonisolated var requestTimeout: Duration { self.server.arrivalTimeout }

    /// The time by which the local clock is ahead of the server's (positive) or behind; `nil` before it is known.
    package nonisolated var clockSkew: Duration? { self.server.clockSkew }
}

extension ServerConnection {
    fileprivate var origin: String {
        guard let url = URLComponents(string: self.baseURL), let host = url.host else { return self.baseURL }
        return "\(url.scheme ?? "")://\(host.lowercased()):\(url.port.map(String.init) ?? "")"
    }

    fileprivate var clockSkew: Duration? {
        guard let measured = self.time.measuredDate else { return nil }
        return Duration(boundedSeconds: self.clocks.reading.wall.timeIntervalSince(measured))
    }
}
