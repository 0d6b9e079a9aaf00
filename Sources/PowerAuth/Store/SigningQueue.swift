import Synchronization

/// Gives the right to sign with each activation to one task of this process at a time, in order of arrival.
final class SigningQueue: Sendable {
    private struct Waiter {
        let id: Int
        let turn: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var nextID = 0
        /// Those who wait, by activation; an activation that nobody holds has no entry.
        var waiters: [String: [Waiter]] = [:]
    }

    private let state = Mutex(State())

    /// Returns when the caller is the one holder.
    ///
    /// - Throws: `CancellationError` when the task is cancelled while it waits; its place is given up.
    func enter(_ activationID: String) async throws {
        let id = self.state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (turn: CheckedContinuation<Void, any Error>) in
                // The cancellation handler may have run before the waiter is there to be found: look again inside.
                let outcome: Result<Void, any Error>? = self.state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    guard state.waiters[activationID] != nil else {
                        state.waiters[activationID] = []
                        return .success(())
                    }
                    state.waiters[activationID]?.append(Waiter(id: id, turn: turn))
                    return nil
                }
                if let outcome { turn.resume(with: outcome) }
            }
        } onCancel: {
            let waiter = self.state.withLock { state -> Waiter? in
                guard let index = state.waiters[activationID]?.firstIndex(where: { $0.id == id }) else { return nil }
                return state.waiters[activationID]?.remove(at: index)
            }
            waiter?.turn.resume(throwing: CancellationError())
        }
    }

    /// Passes the right on to the one who has waited longest.
    func leave(_ activationID: String) {
        let next = self.state.withLock { state -> Waiter? in
            guard let waiters = state.waiters[activationID], !waiters.isEmpty else {
                state.waiters[activationID] = nil
                return nil
            }
            return state.waiters[activationID]?.removeFirst()
        }
        next?.turn.resume()
    }

    /// How many wait behind the holder.
    func waiterCount(of activationID: String) -> Int {
        self.state.withLock { $0.waiters[activationID]?.count ?? 0 }
    }
}
