public import Synchronization

/// A task that waits. The one who takes it out of the state that keeps it resumes it, once.
public struct Waiter<Value: Sendable>: Sendable {
    /// Unique in this process.
    public let id: UInt64
    private let continuation: CheckedContinuation<Value, any Error>

    fileprivate init(id: UInt64, _ continuation: CheckedContinuation<Value, any Error>) {
        self.id = id
        self.continuation = continuation
    }

    /// Ends the wait. Not to be called under a lock: an executor may run the task on the spot.
    public func resume(with result: Result<Value, any Error>) {
        self.continuation.resume(with: result)
    }
}

extension Waiter where Value == Void {
    /// Ends the wait.
    public func resume() { self.resume(with: .success(())) }
}

private let lastWaiterID = Atomic<UInt64>(0)

/// Suspends the calling task until its waiter is resumed, or the task is canceled.
///
/// Cancellation may come at any moment, even before `enter` is called. `leave` must then make sure that `enter` does not keep
/// a waiter for good; ``Synchronization/Mutex/wait(enter:entered:leave:)`` does, and is easier to use.
///
/// - Parameters:
///   - enter: Keeps the waiter and returns `nil`, or returns what the wait ends with at once.
///   - leave: Called when the task is canceled. Takes the waiter of this number out of the state that keeps it; returns
///     `nil` when it is not there: it was resumed before, or has not come yet.
/// - Throws: The error that the waiter is resumed with, or `CancellationError`.
public func withWaiter<Value: Sendable>(
    enter: (Waiter<Value>) -> Result<Value, any Error>?,
    leave: @Sendable (UInt64) -> Waiter<Value>?
) async throws -> Value {
    let id = lastWaiterID.add(1, ordering: .relaxed).newValue
    return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
            let waiter = Waiter(id: id, continuation)
            if let result = enter(waiter) { waiter.resume(with: result) }
        }
    } onCancel: {
        leave(id)?.resume(with: .failure(CancellationError()))
    }
}

extension Mutex {
    /// Suspends the calling task until its waiter, which the locked state keeps, is resumed, or the task is canceled.
    ///
    /// ```swift
    /// try await self.state.wait { state, waiter in
    ///     if state.isOpen { return .success(()) }
    ///     state.waiters[waiter.id] = waiter
    ///     return nil
    /// } leave: { state, id in
    ///     state.waiters.removeValue(forKey: id)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - enter: Called under the lock, unless the task is canceled already. Keeps the waiter and returns `nil`, or returns
    ///     what the wait ends with at once.
    ///   - entered: Called afterwards, without the lock.
    ///   - leave: Called under the lock when the task is canceled. Takes the waiter of this number out of the state; returns
    ///     `nil` when it is not there.
    /// - Throws: The error that the waiter is resumed with, or `CancellationError`.
    public func wait<Result: Sendable>(
        enter: (inout Value, Waiter<Result>) -> Swift.Result<Result, any Error>?,
        entered: () -> Void = {},
        leave: @Sendable (inout Value, UInt64) -> Waiter<Result>?
    ) async throws -> Result {
        try await withWaiter { waiter in
            // Looked at under the lock: a cancellation handler that ran before found no waiter to take out.
            let result = self.withLock { Task.isCancelled ? .failure(CancellationError()) : enter(&$0, waiter) }
            entered()
            return result
        } leave: { id in
            self.withLock { leave(&$0, id) }
        }
    }
}
