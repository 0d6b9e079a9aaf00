import Synchronization

/// One run of a piece of work that any number of tasks wait for, each of which may be canceled on its own.
///
/// A task first takes a seat and then waits on it. The work is canceled when the last seat is given up, unless the flight is
/// kept. A flight that has landed or was abandoned gives no more seats, so no task joins work that is over. The work runs at
/// the priority of the most urgent task that ever took a seat.
package final class Flight<Value: Sendable>: Sendable {
    /// A place on the flight. A task that takes one has to wait on it, which gives it up.
    package struct Seat: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    fileprivate enum Phase {
        case waiting
        case flying(Task<Void, Never>)
        case landed(Result<Value, any Error>)
        case abandoned
    }

    fileprivate struct State {
        var phase = Phase.waiting
        /// The seats taken, with a waiter once the holder waits.
        var seats: [Seat: Waiter<Value>?] = [:]
        var nextNumber: UInt64 = 0
        var priority = TaskPriority.background
        /// Indicates whether the work goes on without anybody aboard.
        var isKept = false

        var isOver: Bool {
            switch self.phase {
            case .waiting, .flying: false
            case .landed, .abandoned: true
            }
        }
    }

    private let state = Mutex(State())

    package init() {}

    /// Returns a new flight with its first seat taken.
    package static func boarded() -> (Flight, Seat) {
        let flight = Flight()
        let seat = Seat(number: 0)
        let priority = Task.currentPriority
        flight.state.withLock { state in
            state.seats[seat] = .some(nil)
            _ = state.raise(to: priority)
        }
        return (flight, seat)
    }

    /// The number of waiters for the work; a flight that is kept counts as one.
    package var waiterCount: Int {
        self.state.withLock { state in
            guard !state.isOver else { return 0 }
            return state.seats.values.count { $0 != nil } + (state.isKept ? 1 : 0)
        }
    }

    /// Indicates whether any seat is taken.
    var isAwaited: Bool { self.state.withLock { !$0.seats.isEmpty } }

    /// Starts the work, once. It does not start on a flight that was abandoned before.
    ///
    /// The first seat is taken before, so that the priority is known.
    package func start(_ work: @escaping @Sendable () async throws -> Value) {
        self.state.withLock { state in
            guard case .waiting = state.phase else { return }
            // The task's first act on the state waits for this lock, so it finds its flight complete.
            state.phase = .flying(
                Task(priority: state.priority) {
                    let result: Result<Value, any Error>
                    do {
                        result = .success(try await work())
                    } catch {
                        result = .failure(error)
                    }
                    self.land(result)
                }
            )
        }
    }

    // MARK: Coming aboard

    /// Takes a seat, unless the flight is over.
    package func board() -> Seat? {
        let priority = Task.currentPriority
        return self.state.withLock { state in
            guard !state.isOver else { return nil }
            state.nextNumber += 1
            let seat = Seat(number: state.nextNumber)
            state.seats[seat] = .some(nil)
            // Work that has started is escalated when the holder waits: not here, where a caller may hold a lock.
            if case .waiting = state.phase { _ = state.raise(to: priority) }
            return seat
        }
    }

    /// Lets the work go on when the last seat is given up.
    ///
    /// - Returns: `false` when the flight is over.
    package func keep() -> Bool {
        let isKept = self.state.withLock { state in
            guard !state.isOver else { return false }
            state.isKept = true
            return true
        }
        if isKept { self.escalate(to: Task.currentPriority) }
        return isKept
    }

    private func escalate(to priority: TaskPriority) {
        self.state.withLock { $0.raise(to: priority) }?.escalatePriority(to: priority)
    }

    // MARK: Waiting

    /// Waits for the work on a seat that was taken before.
    ///
    /// - Throws: what the work throws, or `CancellationError` as soon as the calling task is canceled.
    package func value(for seat: Seat) async throws -> Value {
        self.escalate(to: Task.currentPriority)
        return try await withTaskPriorityEscalationHandler {
            try await withWaiter {
                self.register($0, for: seat)
            } leave: { _ in
                self.leave(seat)
            }
        } onPriorityEscalated: { _, priority in
            self.escalate(to: priority)
        }
    }

    /// - Returns: What the wait ends with at once.
    private func register(_ waiter: Waiter<Value>, for seat: Seat) -> Result<Value, any Error>? {
        self.state.withLock { state in
            // A cancellation handler that ran before has given the seat up.
            guard state.seats[seat] != nil else { return .failure(CancellationError()) }
            if case .landed(let result) = state.phase {
                state.seats[seat] = nil
                return result
            }
            state.seats[seat] = .some(waiter)
            return nil
        }
    }

    private func leave(_ seat: Seat) -> Waiter<Value>? {
        let (waiter, task) = self.state.withLock { state -> (Waiter<Value>?, Task<Void, Never>?) in
            let waiter = state.seats.removeValue(forKey: seat) ?? nil
            guard state.seats.isEmpty, !state.isKept else { return (waiter, nil) }
            return (waiter, state.abandon())
        }
        task?.cancel()
        return waiter
    }

    // MARK: The end

    /// Cancels the work; everybody aboard gets a `CancellationError`.
    package func cancel() {
        let (seats, task) = self.state.withLock { state -> ([Seat: Waiter<Value>?], Task<Void, Never>?) in
            guard !state.isOver else { return ([:], nil) }
            let seats = state.seats
            state.seats = [:]
            return (seats, state.abandon())
        }
        task?.cancel()
        for waiter in seats.values { waiter?.resume(with: .failure(CancellationError())) }
    }

    private func land(_ result: Result<Value, any Error>) {
        let seats = self.state.withLock { state -> [Seat: Waiter<Value>?] in
            guard !state.isOver else { return [:] }
            state.phase = .landed(result)
            let seats = state.seats
            // Those whose holders do not wait yet stay, for them to find the result.
            state.seats = seats.filter { $0.value == nil }
            return seats
        }
        for waiter in seats.values { waiter?.resume(with: result) }
    }
}

/// A flight, whatever its value.
protocol AnyFlight: AnyObject, Sendable {
    var isAwaited: Bool { get }
    func keep() -> Bool
}

extension Flight: AnyFlight {}

extension Flight.State {
    /// - Returns: The task to escalate when that is news to it.
    fileprivate mutating func raise(to priority: TaskPriority) -> Task<Void, Never>? {
        guard priority > self.priority, !self.isOver else { return nil }
        self.priority = priority
        if case .flying(let task) = self.phase { return task }
        return nil
    }

    /// - Returns: The task to cancel.
    fileprivate mutating func abandon() -> Task<Void, Never>? {
        guard !self.isOver else { return nil }
        defer { self.phase = .abandoned }
        if case .flying(let task) = self.phase { return task }
        return nil
    }
}
