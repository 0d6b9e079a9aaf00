import Synchronization

/// A semaphore for each of any number of keys: a number of tasks at a time have a turn, in order of arrival.
///
/// An actor alone is not enough, because it is re-entrant: a second signature could begin while the first one's request is on
/// the wire.
public final class KeyedSemaphore: Sendable {
    private struct State {
        /// The queue of each key; a key without turns has none.
        var queues: [String: TurnQueue<Waiter<Void>>] = [:]
    }

    private let state = Mutex(State())
    private let width: Int

    /// Creates a semaphore.
    ///
    /// - Parameter width: The number of tasks of each key that have a turn at once.
    public init(width: Int = 1) {
        self.width = width
    }

    /// Returns the number of tasks that wait for their turn.
    public func waitingCount(in key: String) -> Int {
        self.state.withLock { $0.queues[key]?.waitingCount ?? 0 }
    }

    /// Returns whether a turn is taken.
    public func isBusy(in key: String) -> Bool {
        self.state.withLock { $0.queues[key] != nil }
    }

    /// Waits until the turn is the caller's. Each success must be followed by one ``leave(_:)``.
    ///
    /// - Throws: `CancellationError`, and then the turn is not the caller's.
    public func enter(_ key: String) async throws {
        try Task.checkCancellation()
        // A turn that is free, as most are, needs no cancellation handler, which would leave the caller's actor and come back.
        if self.state.withLock({ $0.queues[key, default: TurnQueue(width: self.width)].enter() }) { return }
        try await self.state.wait { state, waiter in
            if state.queues[key, default: TurnQueue(width: self.width)].enter() { return .success(()) }
            state.queues[key]?.wait(waiter, as: waiter.id)
            return nil
        } leave: { state, id in
            state.queues[key]?.withdraw(id)
        }
    }

    /// Ends the turn and wakes the next waiter of the key.
    public func leave(_ key: String) {
        let next = self.state.withLock { state in
            let next = state.queues[key]?.leave()
            if state.queues[key]?.isBusy == false { state.queues[key] = nil }
            return next
        }
        // Resumed outside the lock, which the resumed task may want at once.
        next?.resume()
    }
}
