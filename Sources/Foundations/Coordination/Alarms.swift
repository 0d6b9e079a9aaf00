import Synchronization

/// Raises signals at deadlines, with one task that sleeps until the earliest. A sleeping task per deadline would take half of a
/// fleet service's memory.
///
/// When an earlier deadline is set, the sleeping task stays: the runtime keeps a timer until its time, even after cancellation.
/// Otherwise a far deadline that becomes the earliest after each alarm would leave a timer behind each time.
public final class Alarms: Sendable {
    /// Identifies an alarm.
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
        /// In descending order of deadlines.
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

    /// The number of kept deadlines, including some of canceled alarms.
    public var deadlineCount: Int { self.state.withLock { $0.signals.deadlineCount } }

    /// Raises a signal at a deadline; at once if it has passed.
    public func set(_ signal: Signal, at deadline: Duration) -> ID {
        let (id, obsolete) = self.state.withLock { state in
            let id = ID(number: state.takeNumber())
            state.signals.insert(signal, for: id, at: deadline)
            return (id, self.sleepToEarliest(&state))
        }
        for task in obsolete { task.cancel() }
        return id
    }

    /// Cancels an alarm, unless it has been raised.
    public func cancel(_ id: ID) {
        let obsolete = self.state.withLock { state in
            state.signals.remove(id) == nil ? [] : self.sleepToEarliest(&state)
        }
        for task in obsolete { task.cancel() }
    }

    /// Keeps a task asleep until the earliest deadline, if there is one.
    ///
    /// - Returns: Useless sleepers, to be canceled outside the lock, because cancellation runs the clock's code.
    private func sleepToEarliest(_ state: inout State) -> [Task<Void, Never>] {
        guard let earliest = state.signals.earliest() else { return state.takeSleepers() }
        // A task that wakes too early finds nothing due.
        if let next = state.sleepers.last, next.deadline <= earliest { return [] }
        let number = state.takeNumber()
        // Detached: it serves all alarms, so it must not inherit priority and task-local values. It takes almost no time.
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
