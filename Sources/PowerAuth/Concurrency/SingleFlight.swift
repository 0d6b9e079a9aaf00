internal import Synchronization

/// One piece of work that any number of tasks may wait for at once.
///
/// The first caller starts it, later ones join, and each may be cancelled on its own; the work is cancelled when its
/// last waiter leaves. The next call after it ended starts it anew.
package final class SingleFlight<Value: Sendable>: Sendable {
    private struct Flight {
        let number: UInt64
        var task: Task<Void, Never>?
        var waiters: [UInt64: CheckedContinuation<Value, any Error>] = [:]
    }

    private struct State {
        var flight: Flight?
        var nextNumber: UInt64 = 0

        mutating func number() -> UInt64 {
            self.nextNumber += 1
            return self.nextNumber
        }
    }

    private let state = Mutex(State())

    package init() {}

    /// How many tasks wait for the work under way.
    package var waiterCount: Int { self.state.withLock { $0.flight?.waiters.count ?? 0 } }

    /// Joins the work under way, or starts `work`.
    ///
    /// - Throws: what the work throws, or `CancellationError` as soon as the calling task is cancelled.
    package func run(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let id = self.state.withLock { $0.number() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: CheckedContinuation<Value, any Error>) in
                let isCancelled = self.state.withLock { state in
                    // Looked at under the lock: a cancellation handler that ran before found nobody to remove.
                    guard !Task.isCancelled else { return true }
                    if state.flight == nil {
                        let number = state.number()
                        state.flight = Flight(number: number)
                        // The task's first act on the state waits for this lock, so it finds its flight complete.
                        state.flight?.task = Task { await self.perform(work, as: number) }
                    }
                    state.flight?.waiters[id] = waiter
                    return false
                }
                if isCancelled { waiter.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            self.leave(id)
        }
    }

    private func perform(_ work: @Sendable () async throws -> Value, as number: UInt64) async {
        let result: Result<Value, any Error>
        do {
            result = .success(try await work())
        } catch {
            result = .failure(error)
        }
        let waiters = self.state.withLock { state -> [CheckedContinuation<Value, any Error>] in
            // An abandoned flight was replaced by `nil` or by another one, which is not ours to end.
            guard let flight = state.flight, flight.number == number else { return [] }
            state.flight = nil
            return Array(flight.waiters.values)
        }
        for waiter in waiters { waiter.resume(with: result) }
    }

    private func leave(_ id: UInt64) {
        let (waiter, abandoned) = self.state.withLock {
            state -> (CheckedContinuation<Value, any Error>?, Task<Void, Never>?) in
            guard let waiter = state.flight?.waiters.removeValue(forKey: id) else { return (nil, nil) }
            guard state.flight?.waiters.isEmpty == true else { return (waiter, nil) }
            defer { state.flight = nil }
            return (waiter, state.flight?.task)
        }
        abandoned?.cancel()
        waiter?.resume(throwing: CancellationError())
    }
}
