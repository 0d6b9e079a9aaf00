import Basics
import Foundation
import HTTPClientTransport
import Synchronization

/// Decides when requests to a server are sent: what makes a fleet a good guest.
package protocol RequestGate: Sendable {
    /// Waits until a request may be sent. Then ``leave(_:)`` has to follow.
    ///
    /// - Throws: `CancellationError` alone.
    func enter() async throws
    /// Called when the request has ended.
    func leave(_ outcome: RequestOutcome)

    /// Returns whether another token may be asked for now, after one was refused, which takes a signed request.
    func mayRenewToken() -> Bool
    /// Called when another token was had, and used.
    func tokenRenewed(isAccepted: Bool)
}

/// What a request tells about the server's health, whatever was asked for.
package enum RequestOutcome: Equatable, Sendable {
    /// The server did its work, be it to refuse.
    case answered
    /// No response, or one that says that the server is not well, perhaps with the time to leave it alone.
    case failed(retryAfter: Duration?)
    /// Nothing can be said of the server.
    case canceled
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
    /// Lets a gate decide when this client's requests are sent, from now on.
    package func setGate(_ gate: any RequestGate) {
        self.server.gate.withLock { $0 = gate }
    }

    /// The gate that was set last.
    package var gate: (any RequestGate)? { self.server.gate.withLock { $0 } }

    /// Scheme, host and port of the server.
    package var serverOrigin: String { self.server.origin }

    /// By how much the local clock is ahead of the server's (positive) or behind it, once the server has told its time.
    package var clockSkew: Duration? { self.server.clockSkew }
}

extension Activation {
    /// Scheme, host and port of the server.
    package nonisolated var serverOrigin: String { self.server.origin }

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
