import Synchronization

/// Counts work in progress, and lets tasks wait for its end.
public final class Drain: Sendable {
    private struct State {
        var count = 0
        var isClosed = false
        var waiters: [UInt64: Waiter<Void>] = [:]
    }

    private let state = Mutex(State())

    /// Creates an empty drain.
    public init() {}

    /// The number of work items in progress.
    public var count: Int { self.state.withLock { $0.count } }

    /// Registers work; ``end()`` must follow. Returns `false`, without registering, after ``close()``.
    @discardableResult
    public func begin() -> Bool {
        self.state.withLock { state in
            if !state.isClosed { state.count += 1 }
            return !state.isClosed
        }
    }

    /// Records the end of work.
    public func end() {
        let waiters = self.state.withLock { state -> [UInt64: Waiter<Void>] in
            state.count -= 1
            guard state.count == 0 else { return [:] }
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.resume() }
    }

    /// Refuses new work.
    public func close() { self.state.withLock { $0.isClosed = true } }

    /// Waits until no work is in progress.
    ///
    /// - Throws: `CancellationError` if the calling task is canceled; see ``shielded(_:)``.
    public func wait() async throws {
        try await self.state.wait { state, waiter in
            guard state.count > 0 else { return .success(()) }
            state.waiters[waiter.id] = waiter
            return nil
        } leave: { state, id in
            state.waiters.removeValue(forKey: id)
        }
    }
}
