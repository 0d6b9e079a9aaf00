internal import Synchronization

/// Work that goes on to its end even when the task that asked for it is canceled.
///
/// A signed request on the wire must be finished, or the counter would be in doubt; its caller need not wait for that.
enum UncancellableTask {
    /// The task that asked for the work. The work may stop, before its first effect, when that one no longer waits.
    final class Caller: Sendable {
        private struct State {
            var hasLeft = false
            /// The work, as long as it may be canceled.
            var cancelable: Task<Void, Never>?
            var hasBegun: Bool
        }

        private let state: Mutex<State>

        fileprivate init(hasBegun: Bool) {
            self.state = Mutex(State(hasBegun: hasBegun))
        }

        /// - Throws: `CancellationError` when the caller no longer waits.
        func checkIsWaiting() throws {
            guard !self.state.withLock({ $0.hasLeft }) else { throw CancellationError() }
        }

        /// Ends the part of the work that is canceled with its caller.
        ///
        /// - Throws: `CancellationError` when the caller no longer waits.
        func begin() throws {
            try self.state.withLock { state in
                guard !state.hasLeft else { throw CancellationError() }
                state.hasBegun = true
                state.cancelable = nil
            }
        }

        fileprivate func wait(for task: Task<Void, Never>) {
            let hasLeft = self.state.withLock { state in
                guard !state.hasBegun, !state.hasLeft else { return !state.hasBegun }
                state.cancelable = task
                return false
            }
            if hasLeft { task.cancel() }
        }

        fileprivate func leave() {
            let task = self.state.withLock { state in
                state.hasLeft = true
                return state.cancelable.take()
            }
            task?.cancel()
        }
    }

    /// Runs `work` in a task of its own and waits for it, until the calling task is canceled.
    ///
    /// - Throws: What `work` throws, or `CancellationError` at once when the caller is canceled; `work` then goes on.
    static func run<Value: Sendable>(
        _ work: @escaping @Sendable (Caller) async throws -> Value
    ) async throws -> Value {
        try await self.run(work, for: Caller(hasBegun: true))
    }

    /// Runs `work` in a task of its own and waits for it, until the calling task is canceled.
    ///
    /// Until it calls ``Caller/begin()``, such as while it waits for its turn, `work` is canceled with its caller.
    ///
    /// - Throws: What `work` throws, or `CancellationError` at once when the caller is canceled.
    static func runOnceBegun<Value: Sendable>(
        _ work: @escaping @Sendable (Caller) async throws -> Value
    ) async throws -> Value {
        try await self.run(work, for: Caller(hasBegun: false))
    }

    private static func run<Value: Sendable>(
        _ work: @escaping @Sendable (Caller) async throws -> Value,
        for caller: Caller
    ) async throws -> Value {
        let outcome = Outcome<Value>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                outcome.expect(continuation)
                let task = Task {
                    do {
                        outcome.settle(.success(try await work(caller)))
                    } catch {
                        outcome.settle(.failure(error))
                    }
                }
                caller.wait(for: task)
            }
        } onCancel: {
            caller.leave()
            outcome.settle(.failure(CancellationError()))
        }
    }

    /// The first result wins; the cancellation may even come before the caller is registered.
    private final class Outcome<Value: Sendable>: Sendable {
        private enum State {
            case idle
            case expected(CheckedContinuation<Value, any Error>)
            case settledEarly(Result<Value, any Error>)
            case done
        }

        private let state = Mutex(State.idle)

        func expect(_ caller: CheckedContinuation<Value, any Error>) {
            let early: Result<Value, any Error>? = self.state.withLock { state in
                guard case .settledEarly(let result) = state else {
                    state = .expected(caller)
                    return nil
                }
                state = .done
                return result
            }
            if let early { caller.resume(with: early) }
        }

        func settle(_ result: Result<Value, any Error>) {
            let caller: CheckedContinuation<Value, any Error>? = self.state.withLock { state in
                switch state {
                case .idle:
                    state = .settledEarly(result)
                    return nil
                case .expected(let caller):
                    state = .done
                    return caller
                case .settledEarly, .done:
                    return nil
                }
            }
            caller?.resume(with: result)
        }
    }
}
