import Synchronization

/// Counts work under way, and lets tasks wait until none is left.
public final class Drain: Sendable {
    private struct State {
        var count = 0
        var isClosed = false
        var waiters: [UInt64: Waiter<Void>] = [:]
    }

    private let state = Mutex(State())

    /// Creates one that nothing has entered.
    public init() {}

    /// The number of pieces of work under way.
    public var count: Int { self.state.withLock { $0.count } }

    /// Counts one in, which ``end()`` has to follow.
    ///
    /// - Returns: `false` when ``close()`` was called; then nothing was counted.
    @discardableResult
    public func begin() -> Bool {
        self.state.withLock { state in
            if !state.isClosed { state.count += 1 }
            return !state.isClosed
        }
    }

    /// Counts one out.
    public func end() {
        let waiters = self.state.withLock { state -> [UInt64: Waiter<Void>] in
            state.count -= 1
            guard state.count == 0 else { return [:] }
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.resume() }
    }

    /// Lets nothing more begin.
    public func close() { self.state.withLock { $0.isClosed = true } }

    /// Waits until nothing is under way.
    ///
    /// - Throws: `CancellationError` when the calling task is canceled; see ``shielded(_:)``.
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
