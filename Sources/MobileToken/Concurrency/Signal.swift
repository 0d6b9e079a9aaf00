import Synchronization

/// Wakes one waiter each time it is raised, oldest first, and remembers one raise that nobody waited for.
package final class Signal: Sendable {
    private struct State {
        var isRaised: Bool
        var nextID: UInt64 = 0
        var waiters: [(id: UInt64, wake: CheckedContinuation<Bool, Never>)] = []
    }

    private let state: Mutex<State>

    package init(isRaised: Bool = false) {
        self.state = Mutex(State(isRaised: isRaised))
    }

    package func raise() {
        let waiter: CheckedContinuation<Bool, Never>? = self.state.withLock { state in
            guard state.waiters.isEmpty else { return state.waiters.removeFirst().wake }
            state.isRaised = true
            return nil
        }
        waiter?.resume(returning: true)
    }

    /// Forgets a raise that nobody waited for.
    package func lower() {
        self.state.withLock { $0.isRaised = false }
    }

    /// Takes the signal if it is raised, and returns whether it was.
    package func take() -> Bool {
        self.state.withLock { state in
            defer { state.isRaised = false }
            return state.isRaised
        }
    }

    /// Waits for the signal and takes it.
    ///
    /// - Returns: `false` when the calling task was cancelled, and then the signal was not taken.
    package func wait() async -> Bool {
        let id = self.state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let result: Bool? = self.state.withLock { state in
                    // Looked at under the lock: a cancellation handler that ran before found nobody to wake.
                    if Task.isCancelled { return false }
                    if state.isRaised {
                        state.isRaised = false
                        return true
                    }
                    state.waiters.append((id, waiter))
                    return nil
                }
                if let result { waiter.resume(returning: result) }
            }
        } onCancel: {
            let waiter = self.state.withLock { state in
                state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0).wake }
            }
            waiter?.resume(returning: false)
        }
    }
}
