import Coordination
import PowerAuthClient

extension MobileTokenClient {
    /// Runs a call of possibly several requests within the timeout of one, on the client's clock.
    package func within<Result: Sendable>(
        _ limit: Duration,
        _ call: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let clock = ServiceClock(self.configuration.clock)
        if let result = try await withDeadline(clock.now + limit, on: clock, call) { return result }
        throw MobileTokenError(.timeout, "There was no answer within \(limit)")
    }
}
