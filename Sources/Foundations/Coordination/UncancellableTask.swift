/// Work that runs to its end even if the requesting task is canceled. For example, a sent signed request must be finished to keep
/// the counter known, but its caller need not wait.
public enum UncancellableTask {
    /// The requesting task. The work may stop before its first effect if that task no longer waits.
    public struct Caller: Sendable {
        @usableFromInline let task: any AnySharedTask

        @inlinable init(task: any AnySharedTask) { self.task = task }

        /// Throws `CancellationError` if the caller no longer waits.
        public func checkIsWaiting() throws {
            guard self.task.isAwaited else { throw CancellationError() }
        }

        /// Ends the part of the work that is canceled with its caller.
        ///
        /// - Throws: `CancellationError` if the caller no longer waits.
        public func begin() throws {
            guard self.task.isAwaited, self.task.detach() else { throw CancellationError() }
        }
    }

    /// Runs `work` in a separate task and waits for it, until the calling task is canceled.
    ///
    /// - Throws: The error of `work`, or `CancellationError` at once when the caller is canceled; `work` then goes on.
    @inlinable public static func run<Value: Sendable>(
        _ work: @escaping @Sendable (Caller) async throws -> Value
    ) async throws -> Value {
        let (task, subscription) = SharedTask<Value>.makeJoined()
        _ = task.detach()
        task.start { try await work(Caller(task: task)) }
        return try await task.value(for: subscription)
    }

    /// Runs `work` in a separate task and waits for it, until the calling task is canceled. Until ``Caller/begin()``, `work` is
    /// canceled with its caller.
    ///
    /// Until it calls ``Caller/begin()``, such as while it waits for its turn, `work` is canceled with its caller.
    ///
    /// - Throws: The error of `work`, or `CancellationError` at once when the caller is canceled.
    @inlinable public static func runOnceBegun<Value: Sendable>(
        _ work: @escaping @Sendable (Caller) async throws -> Value
    ) async throws -> Value {
        let (task, subscription) = SharedTask<Value>.makeJoined()
        task.start { try await work(Caller(task: task)) }
        return try await task.value(for: subscription)
    }
}
