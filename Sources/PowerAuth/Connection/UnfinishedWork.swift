import Basics
import Synchronization

/// Counts what must not be cut in two by the end of the process, the transport or the store: activations between the request that
/// uses up the code and the store, and signed requests between the counter's move and what became of them.
final class UnfinishedWork: Sendable {
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
        let isLast = self.state.withLock { state in
            state.count -= 1
            return state.count == 0
        }
        if isLast { self.letGo() }
    }

    /// Lets no other begin, and returns when all have ended, or when the limit is over: one may wait for its turn at a server that
    /// asked to be left alone. Does not heed cancellation, which is why it is called.
    func close(within limit: Duration, on clock: any Clock<Duration>) async {
        let timer = Task {
            try await clock.sleep(for: limit.bounded)
            self.letGo()
        }
        await withCheckedContinuation { waiter in
            let isDone = self.state.withLock { state in
                state.isClosed = true
                if state.count > 0 { state.waiters.append(waiter) }
                return state.count == 0
            }
            if isDone { waiter.resume() }
        }
        timer.cancel()
    }

    private func letGo() {
        let waiters = self.state.withLock { state in
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}
