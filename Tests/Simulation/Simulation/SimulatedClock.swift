/// The clock of a simulated world, which advances when nothing else is ready. All processes share it, because monotonic clocks
/// run equally fast.
struct SimulatedClock: Clock {
    struct Instant: InstantProtocol {
        /// Includes a deadline's attoseconds: a task woken before it would sleep again for zero time, forever.
        fileprivate var offset: Duration
        func advanced(by duration: Duration) -> Self { Self(offset: self.offset + duration) }
        func duration(to other: Self) -> Duration { other.offset - self.offset }
        static func < (lhs: Self, rhs: Self) -> Bool { lhs.offset < rhs.offset }
    }

    let simulator: Simulator

    var now: Instant { Instant(offset: .nanoseconds(self.simulator.now)) }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let wait = self.now.duration(to: deadline) + .nanoseconds(1)
        try await self.simulator.suspend { simulator, wake in
            simulator.postHere(after: wait) { _ = wake(.success(())) }
        }
    }
}

extension Simulator {
    /// Suspends the calling task until it is woken, or canceled.
    ///
    /// - Parameter begin: Gets the function that wakes the task, to be called in a step of the task's own process; further calls
    ///   have no effect, and neither has one after the task was canceled: these return `false`. Returns a timer that is canceled
    ///   with the task.
    func suspend<Value: Sendable>(
        _ begin: (Simulator, @escaping (Result<Value, any Error>) -> Bool) -> Int?
    ) async throws -> Value {
        let sleeper = Sleeper<Value>()
        return try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                guard sleeper.begin(continuation) else { return continuation.resume(throwing: CancellationError()) }
                sleeper.timer = begin(self) { sleeper.end($0) }
            }
        } onCancel: {
            guard sleeper.end(.failure(CancellationError())), let timer = sleeper.timer else { return }
            self.cancelTimer(timer)
        }
    }
}

/// A suspended task. All users run in one simulator's thread, so it needs no lock.
private final class Sleeper<Value: Sendable>: @unchecked Sendable {
    private var continuation: UnsafeContinuation<Value, any Error>?
    private var isOver = false
    var timer: Int?

    func begin(_ continuation: UnsafeContinuation<Value, any Error>) -> Bool {
        guard !self.isOver else { return false }
        self.continuation = continuation
        return true
    }

    func end(_ result: Result<Value, any Error>) -> Bool {
        self.isOver = true
        guard let continuation = self.continuation.take() else { return false }
        continuation.resume(with: result)
        return true
    }
}
