internal import Synchronization

/// Work that goes on to its end even when the task that asked for it is cancelled.
///
/// A signed request on the wire must be finished, or the counter would be in doubt; its caller need not wait for that.
enum Errand {
    /// Whether anybody still waits for the result. The work may stop, before its first effect, when nobody does.
    final class Audience: Sendable {
        fileprivate let hasLeft = Mutex(false)

        /// - Throws: `CancellationError` when the caller has gone.
        func checkIsWaiting() throws {
            guard !self.hasLeft.withLock({ $0 }) else { throw CancellationError() }
        }
    }

    /// Runs `work` in a task of its own and waits for it, until the calling task is cancelled.
    ///
    /// - Throws: what `work` throws, or `CancellationError` at once when the caller is cancelled; `work` then goes on.
    static func run<Value: Sendable>(
        _ work: @escaping @Sendable (Audience) async throws -> Value
    ) async throws -> Value {
        let audience = Audience()
        let outcome = Outcome<Value>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { caller in
                outcome.expect(caller)
                Task {
                    do {
                        outcome.settle(.success(try await work(audience)))
                    } catch {
                        outcome.settle(.failure(error))
                    }
                }
            }
        } onCancel: {
            audience.hasLeft.withLock { $0 = true }
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
