import Synchronization

/// Counts activations between the request that uses up the code and the store, so that no caller ends the process, the
/// transport or the store in between.
final class ActivationsUnderWay: Sendable {
    private struct State {
        var count = 0
        var isClosed = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Counts one in. Each success must be followed by one ``end()``.
    ///
    /// - Throws: when the client was shut down.
    func begin() throws(MobileTokenError) {
        let isClosed = self.state.withLock { state in
            if !state.isClosed { state.count += 1 }
            return state.isClosed
        }
        if isClosed { throw MobileTokenError(.noConnection, "The client was shut down") }
    }

    /// Counts one out.
    func end() {
        let waiters = self.state.withLock { state in
            state.count -= 1
            guard state.count == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Lets no other begin, and returns when all have ended. Does not heed cancellation, which is why it is called.
    func close() async {
        await withCheckedContinuation { waiter in
            let isDone = self.state.withLock { state in
                state.isClosed = true
                if state.count > 0 { state.waiters.append(waiter) }
                return state.count == 0
            }
            if isDone { waiter.resume() }
        }
    }
}
