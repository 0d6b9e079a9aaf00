import Synchronization

/// Lets a number of tasks at a time through, in order of arrival, in each of any number of lines.
///
/// An actor alone is not enough, because it is re-entrant: a second signature could begin while the first one's request is on
/// the wire.
package final class Gate: Sendable {
    private struct State {
        /// The queue of each line; a line that nobody is in has none.
        var queues: [String: TurnQueue<Waiter<Void>>] = [:]

        /// - Returns: `false` when others are before.
        mutating func takeTurn(in line: String, width: Int) -> Bool {
            self.queues[line, default: TurnQueue(width: width)].enter() == .proceed
        }
    }

    private let state = Mutex(State())
    private let width: Int

    /// Creates a gate.
    ///
    /// - Parameter width: How many tasks of each line have a turn at once.
    package init(width: Int = 1) {
        self.width = width
    }

    /// Returns the number of tasks that wait for their turn.
    package func waitingCount(in line: String) -> Int {
        self.state.withLock { $0.queues[line]?.waitingCount ?? 0 }
    }

    /// Returns whether a turn is taken.
    package func isBusy(in line: String) -> Bool {
        self.state.withLock { $0.queues[line] != nil }
    }

    /// Waits until the turn is the caller's. Each success must be followed by one ``leave(_:)``.
    ///
    /// - Throws: `CancellationError`, and then the turn is not the caller's.
    package func enter(_ line: String) async throws {
        try Task.checkCancellation()
        // A turn that is free, as most are, needs no cancellation handler, which would leave the caller's actor and come back.
        if self.state.withLock({ $0.takeTurn(in: line, width: self.width) }) { return }
        try await self.state.wait { state, waiter in
            if state.takeTurn(in: line, width: self.width) { return .success(()) }
            state.queues[line]?.wait(waiter, as: waiter.id)
            return nil
        } leave: { state, id in
            state.queues[line]?.withdraw(id)
        }
    }

    /// Ends the turn and wakes the next in line.
    package func leave(_ line: String) {
        let next = self.state.withLock { state in
            let next = state.queues[line]?.leave()
            if state.queues[line]?.isBusy == false { state.queues[line] = nil }
            return next
        }
        // Resumed outside the lock, which the resumed task may want at once.
        next?.resume()
    }
}
