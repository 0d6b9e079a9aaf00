import Synchronization

/// A semaphore per key: a limited number of tasks at a time have a turn, in order of arrival.
///
/// An actor is not enough, because it is reentrant: a second signature could begin during the first one's request.
public final class KeyedSemaphore: Sendable {
    private struct State {
        /// The queues by key; a key without turns has none.
        var queues: [String: TurnQueue<Waiter<Void>>] = [:]
    }

    private let state = Mutex(State())
    private let width: Int

    /// Creates a semaphore.
    ///
    /// - Parameter width: The number of concurrent turns per key.
    public init(width: Int = 1) {
        self.width = width
    }

    /// Returns the number of waiting tasks.
    public func waitingCount(in key: String) -> Int {
        self.state.withLock { $0.queues[key]?.waitingCount ?? 0 }
    }

    /// Returns whether any turn is taken.
    public func isBusy(in key: String) -> Bool {
        self.state.withLock { $0.queues[key] != nil }
    }

    /// Waits for a turn. Each success must be followed by one ``leave(_:)``.
    ///
    /// - Throws: `CancellationError`, without a turn.
    public func enter(_ key: String) async throws {
        try Task.checkCancellation()
        // A free turn, the usual case, avoids the cancellation handler, which would leave the caller's actor and return.
        if self.state.withLock({ $0.queues[key, default: TurnQueue(width: self.width)].enter() }) { return }
        try await self.state.wait { state, waiter in
            if state.queues[key, default: TurnQueue(width: self.width)].enter() { return .success(()) }
            state.queues[key]?.wait(waiter, as: waiter.id)
            return nil
        } leave: { state, id in
            state.queues[key]?.withdraw(id)
        }
    }

    /// Ends the turn and resumes the key's next waiter.
    public func leave(_ key: String) {
        let next = self.state.withLock { state in
            let next = state.queues[key]?.leave()
            if state.queues[key]?.isBusy == false { state.queues[key] = nil }
            return next
        }
        // Outside the lock, which the resumed task may need at once.
        next?.resume()
    }
}
