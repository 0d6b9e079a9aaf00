import Synchronization

/// One piece of work at a time, shared by all tasks that ask for it meanwhile.
///
/// The first caller starts it, later ones join, and each may be canceled on its own; the work is canceled when its
/// last waiter leaves. The next call after it ended starts it anew.
package final class SingleFlight<Value: Sendable>: Sendable {
    private let current = Mutex<Flight<Value>?>(nil)

    package init() {}

    /// The number of tasks that wait for the work under way.
    package var waiterCount: Int { self.current.withLock { $0?.waiterCount ?? 0 } }

    /// Joins the work under way, or starts `work`.
    ///
    /// The work runs at the priority of its most urgent waiter.
    ///
    /// - Throws: what the work throws, or `CancellationError` as soon as the calling task is canceled.
    package func run(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try Task.checkCancellation()
        let (flight, seat) = self.current.withLock { current in
            if let flight = current, let seat = flight.board() { return (flight, seat) }
            let new = Flight<Value>.boarded()
            current = new.0
            return new
        }
        flight.start {
            defer { self.forget(flight) }
            return try await work()
        }
        return try await flight.value(for: seat)
    }

    /// Lets go of a flight whose work is over, and of the value it holds.
    private func forget(_ flight: Flight<Value>) {
        self.current.withLock { if $0 === flight { $0 = nil } }
    }
}
