import Coordination
import Basics
import PowerAuthProtocol
import Synchronization

extension Activation {
    /// Waits until the server commits the activation, which can take from seconds to days.
    ///
    /// Temporary failures (the network, 5xx, `Retry-After` up to a quarter of an hour) are retried. The status requests are not
    /// signed.
    ///
    /// ```swift
    /// let activation = try await client.activate(code: code, name: "approval bot", password: password)
    /// try await activation.waitUntilCommitted(within: .seconds(600))
    /// ```
    ///
    /// - Parameters:
    ///   - limit: The longest time to wait, on the client's clock.
    ///   - interval: The time between requests. Default: 5 s.
    /// - Returns: The status, with the state `active`.
    /// - Throws: ``MobileTokenError/Code/deadlinePassed`` after `limit`; `activationBlocked` and `activationRemoved`; any
    ///   permanent error; `CancellationError`.
    @discardableResult
    public nonisolated func waitUntilCommitted(
        within limit: Duration,
        askingEvery interval: Duration = .seconds(5)
    ) async throws -> ActivationStatus {
        let clock = ServiceClock(self.server.configuration.clock)
        let failure = Mutex<MobileTokenError?>(nil)
        let status = try await withDeadline(clock.now + limit.bounded, on: clock) {
            while true {
                var wait = interval.bounded
                do {
                    let status = try await self.status()
                    if try status.isCommitted { return status }
                    failure.withLock { $0 = nil }
                } catch let error as MobileTokenError where error.isPassing {
                    failure.withLock { $0 = error }
                    wait = max(wait, (error.retryAfter ?? .zero).believed)
                }
                try await clock.sleep(until: clock.now + wait)
            }
        }
        if let status { return status }
        throw MobileTokenError.deadlinePassed(
            waitingFor: "the server committing the activation",
            after: limit,
            failure: failure.withLock { $0 }
        )
    }
}

extension ActivationStatus {
    /// Indicates whether the activation may sign.
    ///
    /// - Throws: An error if it never will, or only after an administrator acts.
    fileprivate var isCommitted: Bool {
        get throws(MobileTokenError) {
            switch self.state {
            case .created, .pendingCommit: return false
            case .active: return true
            case .blocked: throw MobileTokenError(.activationBlocked, "The activation is blocked", remainingAttempts: 0)
            case .removed: throw MobileTokenError(.activationRemoved, "The activation was removed from the server")
            }
        }
    }
}
