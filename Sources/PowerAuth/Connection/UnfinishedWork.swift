import Basics
import Coordination

/// Counts what must not be cut in two by the end of the process, the transport or the store: activations between the request that
/// uses up the code and the store, and signed requests between the counter's move and what became of them.
final class UnfinishedWork: Sendable {
    private let work = Drain()

    /// Counts one in. Each success must be followed by one ``end()``.
    ///
    /// - Throws: An error when the client was shut down.
    func begin() throws(MobileTokenError) {
        guard self.work.begin() else { throw MobileTokenError(.noConnection, "The client was shut down") }
    }

    /// Counts one out.
    func end() { self.work.end() }

    /// Lets no other begin, and returns when all have ended, or when the limit is over: one may wait for its turn at a server that
    /// asked to be left alone. Ignores cancellation, which is why it is called.
    func close(within limit: Duration, on clock: any Clock<Duration>) async {
        self.work.close()
        let clock = ServiceClock(clock)
        await shielded { [work] in
            _ = try? await withDeadline(clock.now + limit.bounded, on: clock) { try await work.wait() }
        }
    }
}
