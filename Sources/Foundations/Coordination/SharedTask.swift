public import Synchronization

/// One run of work, shared by tasks that may be canceled separately.
///
/// A task first joins and then waits on its subscription. The work is canceled when the last subscription is given up, unless it is
/// detached. Work that has finished or was abandoned accepts no more subscriptions. It runs at the priority of the most urgent
/// task that ever joined.
///
/// Its code can be inlined for the reason that ``DeadlineQueue`` is public: each request makes one.
public final class SharedTask<Value: Sendable>: Sendable {
    /// The membership of one waiter. A task that joins must wait on it, which ends it.
    public struct Subscription: Hashable, Sendable {
        @usableFromInline let number: UInt64

        @inlinable init(number: UInt64) { self.number = number }
    }

    @usableFromInline enum Phase: Sendable {
        case waiting
        case running(Task<Void, Never>)
        case finished(Result<Value, any Error>)
        case abandoned
    }

    @usableFromInline struct State: Sendable {
        @usableFromInline var phase = Phase.waiting
        /// The current subscriptions, each with a waiter once its task waits.
        @usableFromInline var subscriptions: [Subscription: Waiter<Value>?] = [:]
        @usableFromInline var nextNumber: UInt64 = 0
        @usableFromInline var priority = TaskPriority.background
        /// Indicates whether the work goes on without subscriptions.
        @usableFromInline var isDetached = false

        @inlinable init() {}

        @inlinable var isOver: Bool {
            switch self.phase {
            case .waiting, .running: false
            case .finished, .abandoned: true
            }
        }
    }

    @usableFromInline let state = Mutex(State())

    /// Creates a task that has not begun.
    @inlinable public init() {}

    /// Returns a new task and its first subscription.
    @inlinable public static func makeJoined() -> (SharedTask, Subscription) {
        let task = SharedTask()
        let subscription = Subscription(number: 0)
        let priority = Task.currentPriority
        task.state.withLock { state in
            state.subscriptions[subscription] = .some(nil)
            _ = state.raise(to: priority)
        }
        return (task, subscription)
    }

    /// The number of waiters for the work; a detached task counts as one.
    @inlinable public var waiterCount: Int {
        self.state.withLock { state in
            guard !state.isOver else { return 0 }
            return state.subscriptions.values.count { $0 != nil } + (state.isDetached ? 1 : 0)
        }
    }

    /// Indicates whether there is any subscription.
    @inlinable var isAwaited: Bool { self.state.withLock { !$0.subscriptions.isEmpty } }

    /// Starts the work, once. It does not start when the last subscription was given up before.
    ///
    /// The first subscriber joins before, so that the priority is known.
    @inlinable public func start(_ work: @escaping @Sendable () async throws -> Value) {
        self.state.withLock { state in
            guard case .waiting = state.phase else { return }
            // The task first waits for this lock, so it finds the state complete. It never runs within this call: an executor
            // gets it.
            state.phase = .running(
                Task(priority: state.priority) {
                    let result: Result<Value, any Error>
                    do {
                        result = .success(try await work())
                    } catch {
                        result = .failure(error)
                    }
                    self.finish(result)
                }
            )
        }
    }

    // MARK: Joining

    /// Adds a subscription, unless the work is over.
    @inlinable public func join() -> Subscription? {
        let priority = Task.currentPriority
        return self.state.withLock { state in
            guard !state.isOver else { return nil }
            state.nextNumber += 1
            let subscription = Subscription(number: state.nextNumber)
            state.subscriptions[subscription] = .some(nil)
            // Started work is escalated when the subscriber waits, because a caller may hold a lock here.
            if case .waiting = state.phase { _ = state.raise(to: priority) }
            return subscription
        }
    }

    /// Lets the work go on when the last subscription is given up.
    ///
    /// - Returns: `false` when the work is over.
    @inlinable public func detach() -> Bool {
        let isDetached = self.state.withLock { state in
            guard !state.isOver else { return false }
            state.isDetached = true
            return true
        }
        if isDetached { self.escalate(to: Task.currentPriority) }
        return isDetached
    }

    @inlinable func escalate(to priority: TaskPriority) {
        self.state.withLock { $0.raise(to: priority) }?.escalatePriority(to: priority)
    }

    // MARK: Waiting

    /// Waits for the work on a subscription from ``join()``.
    ///
    /// - Throws: The error of the work, or `CancellationError` as soon as the calling task is canceled.
    @inlinable public func value(for subscription: Subscription) async throws -> Value {
        self.escalate(to: Task.currentPriority)
        return try await withTaskPriorityEscalationHandler {
            try await withWaiter {
                self.register($0, for: subscription)
            } leave: { _ in
                self.leave(subscription)
            }
        } onPriorityEscalated: { _, priority in
            self.escalate(to: priority)
        }
    }

    /// - Returns: The result with which the wait ends at once; `nil` when the waiter was kept.
    @inlinable func register(_ waiter: Waiter<Value>, for subscription: Subscription) -> Result<Value, any Error>? {
        self.state.withLock { state in
            // An earlier cancellation handler has ended the subscription.
            guard state.subscriptions[subscription] != nil else { return .failure(CancellationError()) }
            if case .finished(let result) = state.phase {
                state.subscriptions[subscription] = nil
                return result
            }
            state.subscriptions[subscription] = .some(waiter)
            return nil
        }
    }

    @inlinable func leave(_ subscription: Subscription) -> Waiter<Value>? {
        let (waiter, task) = self.state.withLock { state -> (Waiter<Value>?, Task<Void, Never>?) in
            let waiter = state.subscriptions.removeValue(forKey: subscription) ?? nil
            guard state.subscriptions.isEmpty, !state.isDetached else { return (waiter, nil) }
            return (waiter, state.abandon())
        }
        task?.cancel()
        return waiter
    }

    // MARK: The end

    /// Cancels the work; every subscriber gets a `CancellationError`.
    @inlinable public func cancel() {
        let (subscriptions, task) = self.state.withLock {
            state -> ([Subscription: Waiter<Value>?], Task<Void, Never>?) in
            guard !state.isOver else { return ([:], nil) }
            let subscriptions = state.subscriptions
            state.subscriptions = [:]
            return (subscriptions, state.abandon())
        }
        task?.cancel()
        for waiter in subscriptions.values { waiter?.resume(with: .failure(CancellationError())) }
    }

    @inlinable func finish(_ result: Result<Value, any Error>) {
        let subscriptions = self.state.withLock { state -> [Subscription: Waiter<Value>?] in
            guard !state.isOver else { return [:] }
            state.phase = .finished(result)
            let subscriptions = state.subscriptions
            // Those whose tasks do not wait yet stay, for them to find the result.
            let isAnyLate = subscriptions.values.contains { $0 == nil }
            state.subscriptions = isAnyLate ? subscriptions.filter { $0.value == nil } : [:]
            return subscriptions
        }
        for waiter in subscriptions.values { waiter?.resume(with: result) }
    }
}

/// A shared task of any value.
@usableFromInline protocol AnySharedTask: AnyObject, Sendable {
    var isAwaited: Bool { get }
    func detach() -> Bool
}

extension SharedTask: AnySharedTask {}

extension SharedTask.State {
    /// - Returns: The task to escalate when that raises its priority.
    @inlinable mutating func raise(to priority: TaskPriority) -> Task<Void, Never>? {
        guard priority > self.priority, !self.isOver else { return nil }
        self.priority = priority
        if case .running(let task) = self.phase { return task }
        return nil
    }

    /// - Returns: The task to cancel.
    @inlinable mutating func abandon() -> Task<Void, Never>? {
        guard !self.isOver else { return nil }
        defer { self.phase = .abandoned }
        if case .running(let task) = self.phase { return task }
        return nil
    }
}
