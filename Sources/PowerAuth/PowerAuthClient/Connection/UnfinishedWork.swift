import Basics
import Coordination

/// Counts the work that shutdown must not interrupt: activations until they are stored, and signed requests until their outcome
/// is recorded.
final class UnfinishedWork: Sendable {
    private let work = Drain()

    /// Registers work. Each success must be followed by one ``end()``.
    ///
    /// - Throws: An error after the client was shut down.
    func begin() throws(MobileTokenError) {
        guard self.work.begin() else { throw MobileTokenError(.noConnection, "The client was shut down") }
    }

    func end() { self.work.end() }

    /// Refuses new work, and waits until all has ended or the limit has passed. Ignores cancellation.
    func close(within limit: Duration, on clock: any Clock<Duration>) async {
        self.work.close()
        let clock = ServiceClock(clock)
        await shielded { [work] in
            _ = try? await withDeadline(clock.now + limit.bounded, on: clock) { try await work.wait() }
        }
    }
}
