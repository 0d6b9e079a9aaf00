import Coordination
import PowerAuth

/// Runs `body` with an open resource, and then closes it, however `body` ends.
package func closing<Opened, Result>(
    _ opened: Opened,
    _ close: (Opened) async -> Void,
    _ body: (Opened) async throws -> Result
) async throws -> Result {
    do {
        let result = try await body(opened)
        await close(opened)
        return result
    } catch {
        await close(opened)
        throw error
    }
}

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
