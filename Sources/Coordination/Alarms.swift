import Synchronization

/// Raises signals at their deadlines: a task sleeps to the earliest, however many signals wait.
///
/// A fleet has a deadline for each service. A sleeping task for each of them would take half of the service's memory.
///
/// When an earlier deadline comes, the task that sleeps to a later one sleeps on, because it will be needed: what the
/// runtime keeps for a sleep it keeps until the time that was named, even when the task is canceled. A deadline that is far
/// away, and becomes the earliest after each alarm until the next is set, would leave a timer behind each time.
public final class Alarms: Sendable {
    /// An alarm that was set.
    public struct ID: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    fileprivate struct Sleeper {
        let number: UInt64
        let deadline: Duration
        let task: Task<Void, Never>
    }

    fileprivate struct State {
        var signals = DeadlineQueue<Duration, ID, Signal>()
        /// The one that wakes first is the last.
        var sleepers: [Sleeper] = []
        var nextNumber: UInt64 = 0
    }

    /// The clock of the deadlines.
    public let clock: ServiceClock
    private let state = Mutex(State())

    private init(_ clock: any Clock<Duration>) {
        self.clock = ServiceClock(clock)
    }

    /// Returns the shared instance for `ContinuousClock`; otherwise creates one.
    public static func on(_ clock: any Clock<Duration>) -> Alarms {
        clock is ContinuousClock ? Self.continuous : Alarms(clock)
    }

    private static let continuous = Alarms(ContinuousClock())

    deinit {
        for task in self.state.withLock({ $0.takeSleepers() }) { task.cancel() }
    }

    /// Deadlines kept, those of some canceled alarms included.
    public var deadlineCount: Int { self.state.withLock { $0.signals.deadlineCount } }

    /// Raises a signal at a deadline; at once when that is over.
    public func set(_ signal: Signal, at deadline: Duration) -> ID {
        let (id, obsolete) = self.state.withLock { state in
            let id = ID(number: state.takeNumber())
            state.signals.insert(signal, for: id, at: deadline)
            return (id, self.sleepToEarliest(&state))
        }
        for task in obsolete { task.cancel() }
        return id
    }

    /// Forgets an alarm, if it has not gone off.
    public func cancel(_ id: ID) {
        let obsolete = self.state.withLock { state in
            state.signals.remove(id) == nil ? [] : self.sleepToEarliest(&state)
        }
        for task in obsolete { task.cancel() }
    }

    /// Keeps a task asleep until the earliest deadline, and none when there is no deadline.
    ///
    /// - Returns: Sleepers that are of no use any more, to be canceled outside the lock: canceling runs the clock's code.
    private func sleepToEarliest(_ state: inout State) -> [Task<Void, Never>] {
        guard let earliest = state.signals.earliest() else { return state.takeSleepers() }
        // One that wakes too early finds nothing due.
        if let next = state.sleepers.last, next.deadline <= earliest { return [] }
        let number = state.takeNumber()
        // Detached: it serves everybody's alarms, so the priority and the task-local values of the one who happens to set
        // the earliest must not stick to it. It does next to nothing, in time.
        let task = Task.detached(priority: .high) { [weak self, clock] in
            do { try await clock.sleep(until: earliest) } catch { return }
            self?.wake(number)
        }
        state.sleepers.append(Sleeper(number: number, deadline: earliest, task: task))
        return []
    }

    private func wake(_ sleeper: UInt64) {
        let now = self.clock.now
        let (due, obsolete) = self.state.withLock { state in
            state.sleepers.removeAll { $0.number == sleeper }
            let due = state.takeDue(at: now)
            return (due, self.sleepToEarliest(&state))
        }
        for task in obsolete { task.cancel() }
        for signal in due { signal.raise() }
    }
}

extension Alarms.State {
    mutating func takeSleepers() -> [Task<Void, Never>] {
        defer { self.sleepers = [] }
        return self.sleepers.map(\.task)
    }

    mutating func takeNumber() -> UInt64 {
        self.nextNumber += 1
        return self.nextNumber
    }

    mutating func takeDue(at now: Duration) -> [Signal] {
        var due: [Signal] = []
        while let (_, signal) = self.signals.removeFirst(dueAt: now) { due.append(signal) }
        return due
    }
}
