import Basics
import Foundation
import HTTPClientTransport
import Synchronization

/// Decides when requests to a server are sent: what makes a fleet a good guest.
package protocol RequestLimiter: AnyObject, Sendable {
    /// Waits until a request may be sent. Then ``leave(_:_:)`` has to follow.
    ///
    /// - Parameter limit: The longest life of the permit: afterwards it is another's, whatever became of the request.
    /// - Returns: The number of the permit.
    /// - Throws: `CancellationError` alone.
    func enter(for limit: Duration) async throws -> UInt64
    /// Called when the request is about to be sent.
    func begin(_ permit: UInt64)
    /// Called when the request has ended, or is not to be sent. Calls after the first have no effect.
    func leave(_ permit: UInt64, _ outcome: RequestOutcome)

    /// Returns whether another token may be asked for now, after one was refused, which takes a signed request.
    func mayRenewToken() -> Bool
    /// Called when another token was had, and used.
    func recordTokenRenewal(isAccepted: Bool)
}

/// The server's health as one request shows it, whatever was asked for.
package enum RequestOutcome: Equatable, Sendable {
    /// The server did its work, be it to refuse.
    case answered
    /// No response, or one that says that the server is not well, perhaps with the time to leave it alone.
    case failed(retryAfter: Duration?)
    /// Nothing can be said of the server.
    case canceled
    /// No request was sent: the permit may serve another one at once.
    case unused
}

/// The right to send one request. Who holds it waits for nothing that waits for a permit: no other request, and no signing turn.
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
    /// Lets a limiter decide when this client's requests are sent, until ``removeLimiter(_:)``.
    ///
    /// - Returns: `false` when another one does already.
    package func setLimiter(_ limiter: any RequestLimiter) -> Bool {
        self.server.limiter.withLock { current in
            guard current == nil || current === limiter else { return false }
            current = limiter
            return true
        }
    }

    /// Sends requests without this limiter from now on. Does nothing when it is another one that decides.
    package func removeLimiter(_ limiter: any RequestLimiter) {
        self.server.limiter.withLock { if $0 === limiter { $0 = nil } }
    }

    /// The time after its sending in which a request may still reach the server.
    package var requestTimeout: Duration { self.server.arrivalTimeout }

    /// Scheme, host and port of the server.
    package var serverOrigin: String { self.server.origin }

    /// By how much the local clock is ahead of the server's (positive) or behind it, once the server has told its time.
    package var clockSkew: Duration? { self.server.clockSkew }
}

extension Activation {
    /// Scheme, host and port of the server.
    package nonisolated var serverOrigin: String { self.server.origin }

    /// The time after its sending in which a request may still reach the server.
    package nonisolated var requestTimeout: Duration { self.server.arrivalTimeout }

    /// By how much the local clock is ahead of the server's (positive) or behind it, once the server has told its time.
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
