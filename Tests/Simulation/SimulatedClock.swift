/// A clock of a simulated world, which goes on when nothing else is to be done. It is one for all processes, none of whose
/// monotonic clocks runs faster than another.
struct SimulatedClock: Clock {
    struct Instant: InstantProtocol {
        /// With the attoseconds that a deadline may have: who woke before it would sleep again, for no time, for ever.
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
        try await self.simulator.suspend { simulator, wake in simulator.postHere(after: wait) { wake(.success(())) } }
    }
}

extension Simulator {
    /// Suspends the calling task until it is woken, or canceled.
    ///
    /// - Parameter begin: Gets what wakes the task: to be called once, or more often to no effect, in a step of the task's own process.
    ///   Returns a timer that is canceled with the task.
    func suspend<Value: Sendable>(
        _ begin: (Simulator, @escaping (Result<Value, any Error>) -> Void) -> Int?
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

/// A suspended task. All that use it run in the thread of one simulator, so it needs no lock.
private final class Sleeper<Value: Sendable>: @unchecked Sendable {
    private var continuation: UnsafeContinuation<Value, any Error>?
    private var isOver = false
    var timer: Int?

    func begin(_ continuation: UnsafeContinuation<Value, any Error>) -> Bool {
        guard !self.isOver else { return false }
        self.continuation = continuation
        return true
    }

    @discardableResult
    func end(_ result: Result<Value, any Error>) -> Bool {
        self.isOver = true
        guard let continuation = self.continuation.take() else { return false }
        continuation.resume(with: result)
        return true
    }
}
