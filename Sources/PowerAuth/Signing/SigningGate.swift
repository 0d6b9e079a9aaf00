internal import Synchronization

/// Lets one task of this process at a time sign with each activation, in order of arrival.
///
/// A store passes each signing turn through one, for an actor alone would not do: it is re-entrant, so a second signature
/// could start while the first one's request is on the wire. A turn therefore covers move, sign, send and receive. A wider
/// gate, for other work, admits several tasks at once.
final class SigningGate: Sendable {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private struct State {
        /// By activation. One without signatures has no entry.
        var queues: [String: TurnQueue<Waiter>] = [:]
        var nextNumber: UInt64 = 0
    }

    private let state = Mutex(State())
    private let width: Int

    init(width: Int = 1) {
        self.width = width
    }

    /// How many tasks wait for their turn.
    func waitingCount(for activationID: String) -> Int {
        self.state.withLock { $0.queues[activationID]?.waitingCount ?? 0 }
    }

    /// Whether a turn is taken.
    func isBusy(for activationID: String) -> Bool {
        self.state.withLock { $0.queues[activationID] != nil }
    }

    /// Waits until the turn is the caller's. Each success must be followed by one ``leave(_:)``.
    ///
    /// - Throws: `CancellationError`, and then the turn is not the caller's.
    func enter(_ activationID: String) async throws {
        let number = self.state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: Waiter) in
                let result: Result<Void, any Error>? = self.state.withLock { state in
                    // Looked at under the lock: a cancellation handler that ran before found no waiter to withdraw.
                    guard !Task.isCancelled else { return .failure(CancellationError()) }
                    switch state.queues[activationID, default: TurnQueue(width: self.width)].enter() {
                    case .proceed:
                        return .success(())
                    case .wait:
                        state.queues[activationID]?.wait(waiter, as: number)
                        return nil
                    }
                }
                if let result { waiter.resume(with: result) }
            }
        } onCancel: {
            let waiter = self.state.withLock { $0.queues[activationID]?.withdraw(number) }
            waiter?.resume(throwing: CancellationError())
        }
    }

    /// Ends the turn and wakes the next in line.
    func leave(_ activationID: String) {
        let next = self.state.withLock { state in
            let next = state.queues[activationID]?.leave()
            if state.queues[activationID]?.isBusy == false { state.queues[activationID] = nil }
            return next
        }
        // Resumed outside the lock, which the resumed task may want at once.
        next?.resume()
    }
}
