public import Synchronization

/// Shares one run of work between all tasks that request it meanwhile. The first caller starts it, later ones join, and each may
/// be canceled separately. The work is canceled when its last waiter leaves. A later call starts a new run.
public final class Coalescer<Value: Sendable>: Sendable {
    @usableFromInline let current = Mutex<SharedTask<Value>?>(nil)

    /// Creates one without work under way.
    @inlinable public init() {}

    /// The number of tasks that wait for the work under way.
    @inlinable public var waiterCount: Int { self.current.withLock { $0?.waiterCount ?? 0 } }

    /// Joins the current run, or starts `work`, at the priority of its most urgent waiter.
    ///
    /// - Throws: The error of the work, or `CancellationError` as soon as the calling task is canceled.
    @inlinable public func run(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try Task.checkCancellation()
        let (task, subscription) = self.current.withLock { current in
            if let task = current, let subscription = task.join() { return (task, subscription) }
            let new = SharedTask<Value>.makeJoined()
            current = new.0
            return new
        }
        task.start {
            defer { self.forget(task) }
            return try await work()
        }
        return try await task.value(for: subscription)
    }

    /// Releases a task whose work is over, and the value it holds.
    @inlinable func forget(_ task: SharedTask<Value>) {
        self.current.withLock { if $0 === task { $0 = nil } }
    }
}
