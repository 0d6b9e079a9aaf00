/// Work that goes on to its end even when the task that asked for it is canceled.
///
/// A signed request on the wire must be finished, or the counter would be in doubt; its caller need not wait for that.
public enum UncancellableTask {
    /// The task that asked for the work. The work may stop, before its first effect, when that one no longer waits.
    public struct Caller: Sendable {
        fileprivate let task: any AnySharedTask

        /// Checks that the caller still waits.
        ///
        /// - Throws: `CancellationError` when it does not.
        public func checkIsWaiting() throws {
            guard self.task.isAwaited else { throw CancellationError() }
        }

        /// Ends the part of the work that is canceled with its caller.
        ///
        /// - Throws: `CancellationError` when the caller no longer waits.
        public func begin() throws {
            guard self.task.isAwaited, self.task.detach() else { throw CancellationError() }
        }
    }

    /// Runs `work` in a task of its own and waits for it, until the calling task is canceled.
    ///
    /// - Throws: The error of `work`, or `CancellationError` at once when the caller is canceled; `work` then goes on.
    public static func run<Value: Sendable>(
        _ work: @escaping @Sendable (Caller) async throws -> Value
    ) async throws -> Value {
        let (task, subscription) = SharedTask<Value>.makeJoined()
        _ = task.detach()
        task.start { try await work(Caller(task: task)) }
        return try await task.value(for: subscription)
    }

    /// Runs `work` in a task of its own and waits for it, until the calling task is canceled.
    ///
    /// Until it calls ``Caller/begin()``, such as while it waits for its turn, `work` is canceled with its caller.
    ///
    /// - Throws: The error of `work`, or `CancellationError` at once when the caller is canceled.
    public static func runOnceBegun<Value: Sendable>(
        _ work: @escaping @Sendable (Caller) async throws -> Value
    ) async throws -> Value {
        let (task, subscription) = SharedTask<Value>.makeJoined()
        task.start { try await work(Caller(task: task)) }
        return try await task.value(for: subscription)
    }
}
