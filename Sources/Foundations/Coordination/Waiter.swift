public import Synchronization

/// A waiting task. Whichever code removes it from the state that stores it must resume it once.
public struct Waiter<Value: Sendable>: Sendable {
    /// The identifier, unique in this process.
    public let id: UInt64
    @usableFromInline let continuation: CheckedContinuation<Value, any Error>

    @inlinable init(id: UInt64, _ continuation: CheckedContinuation<Value, any Error>) {
        self.id = id
        self.continuation = continuation
    }

    /// Ends the wait. Not to be called under a lock: an executor may run the task on the spot.
    @inlinable public func resume(with result: Result<Value, any Error>) {
        self.continuation.resume(with: result)
    }
}

extension Waiter where Value == Void {
    /// Ends the wait.
    @inlinable public func resume() { self.resume(with: .success(())) }
}

private let lastWaiterID = Atomic<UInt64>(0)

@usableFromInline func makeWaiterID() -> UInt64 { lastWaiterID.add(1, ordering: .relaxed).newValue }

/// Suspends the calling task until its waiter is resumed, or the task is canceled.
///
/// Cancellation may come at any moment, even before `enter`. `leave` must then ensure that `enter` does not store a waiter for
/// good; ``Synchronization/Mutex/wait(enter:entered:leave:)`` does, and is easier to use.
///
/// - Parameters:
///   - enter: Keeps the waiter and returns `nil`, or returns what the wait ends with at once.
///   - leave: Called when the task is canceled. Takes the waiter of this number out of the state that keeps it; returns
///     `nil` when it is not there: it was resumed before, or has not come yet.
/// - Throws: The error that the waiter is resumed with, or `CancellationError`.
@inlinable public func withWaiter<Value: Sendable>(
    enter: (Waiter<Value>) -> Result<Value, any Error>?,
    leave: @Sendable (UInt64) -> Waiter<Value>?
) async throws -> Value {
    let id = makeWaiterID()
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
    /// Suspends the calling task until its waiter, stored in the locked state, is resumed, or the task is canceled.
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
    ///   - enter: Called under the lock, unless the task is canceled already. Stores the waiter and returns `nil`, or returns a
    ///     result that ends the wait at once.
    ///   - entered: Called afterwards, without the lock.
    ///   - leave: Called under the lock when the task is canceled. Takes the waiter of this number out of the state; returns
    ///     `nil` when it is not there.
    /// - Throws: The error that the waiter is resumed with, or `CancellationError`.
    @inlinable public func wait<Result: Sendable>(
        enter: (inout Value, Waiter<Result>) -> Swift.Result<Result, any Error>?,
        entered: () -> Void = {},
        leave: @Sendable (inout Value, UInt64) -> Waiter<Result>?
    ) async throws -> Result {
        try await withWaiter { waiter in
            // Checked under the lock, because an earlier cancellation handler found no waiter to remove.
            let result = self.withLock { Task.isCancelled ? .failure(CancellationError()) : enter(&$0, waiter) }
            entered()
            return result
        } leave: { id in
            self.withLock { leave(&$0, id) }
        }
    }
}
