import Synchronization

/// One piece of work at a time, shared by all tasks that ask for it meanwhile.
///
/// The first caller starts it, later ones join, and each may be canceled on its own; the work is canceled when its
/// last waiter leaves. The next call after it ended starts it anew.
public final class Coalescer<Value: Sendable>: Sendable {
    private let current = Mutex<SharedTask<Value>?>(nil)

    /// Creates one without work under way.
    public init() {}

    /// The number of tasks that wait for the work under way.
    public var waiterCount: Int { self.current.withLock { $0?.waiterCount ?? 0 } }

    /// Joins the work under way, or starts `work`.
    ///
    /// The work runs at the priority of its most urgent waiter.
    ///
    /// - Throws: The error of the work, or `CancellationError` as soon as the calling task is canceled.
    public func run(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
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
    private func forget(_ task: SharedTask<Value>) {
        self.current.withLock { if $0 === task { $0 = nil } }
    }
}
