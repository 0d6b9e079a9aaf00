internal import Synchronization

/// Lets one signature at a time through, in order of arrival.
///
/// An actor alone would not do: it is re-entrant, so a second signature could start while the first one's request is
/// on the wire. A turn therefore covers move, sign, send and receive.
final class SigningGate: Sendable {
    private struct State {
        var queue = TurnQueue<CheckedContinuation<Void, any Error>>()
        var nextNumber: UInt64 = 0
    }

    private let state = Mutex(State())

    /// How many tasks wait for their turn.
    var waitingCount: Int { self.state.withLock { $0.queue.waitingCount } }

    /// Whether a turn is taken.
    var isBusy: Bool { self.state.withLock { $0.queue.isBusy } }

    /// Waits for the turn. Each success must be followed by one ``leave()``.
    ///
    /// - Throws: `CancellationError`, and then the turn is not the caller's.
    func enter() async throws {
        let number = self.state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: CheckedContinuation<Void, any Error>) in
                let result: Result<Void, any Error>? = self.state.withLock { state in
                    // Looked at under the lock: a cancellation handler that ran before found nobody to withdraw.
                    guard !Task.isCancelled else { return .failure(CancellationError()) }
                    switch state.queue.enter() {
                    case .proceed:
                        return .success(())
                    case .wait:
                        state.queue.wait(waiter, as: number)
                        return nil
                    }
                }
                if let result { waiter.resume(with: result) }
            }
        } onCancel: {
            self.state.withLock { $0.queue.withdraw(number) }?.resume(throwing: CancellationError())
        }
    }

    /// Ends the turn and wakes the next in line.
    func leave() {
        // Resumed outside the lock, which the resumed task may want at once.
        self.state.withLock { $0.queue.leave() }?.resume()
    }
}
