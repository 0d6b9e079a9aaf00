import Synchronization

/// Resumes the oldest waiter each time it is raised. Without a waiter, a raise is kept for the next one; several count as one.
public final class Signal: Sendable {
    private struct State {
        var isRaised: Bool
        var waiters: [Waiter<Void>] = []
    }

    private let state: Mutex<State>

    /// Creates a signal.
    public init(isRaised: Bool = false) {
        self.state = Mutex(State(isRaised: isRaised))
    }

    /// Resumes a waiter, or lets the next wait return at once.
    public func raise() {
        let waiter: Waiter<Void>? = self.state.withLock { state in
            guard state.waiters.isEmpty else { return state.waiters.removeFirst() }
            state.isRaised = true
            return nil
        }
        waiter?.resume()
    }

    /// Clears a kept raise.
    public func lower() {
        self.state.withLock { $0.isRaised = false }
    }

    /// Takes the signal, and returns whether it was raised.
    public func take() -> Bool {
        self.state.withLock { state in
            defer { state.isRaised = false }
            return state.isRaised
        }
    }

    /// Waits for the signal and takes it.
    ///
    /// - Returns: `false` if the calling task was canceled; the signal is not taken then.
    public func wait() async -> Bool {
        let taken: Void? = try? await self.state.wait { state, waiter in
            guard !state.isRaised else {
                state.isRaised = false
                return .success(())
            }
            state.waiters.append(waiter)
            return nil
        } leave: { state, id in
            state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
        }
        return taken != nil
    }
}
