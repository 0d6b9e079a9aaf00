/// The commands that callers leave for the engine's thread, and whether the thread must be started or woken.
///
/// It decides; the owner starts, wakes and resumes, outside the lock.
struct EngineState<Command: Sendable, Waiter: Sendable>: Sendable {
    private enum Phase {
        /// No thread yet: it starts with the first command.
        case idle
        case running(isAsleep: Bool)
        case stopping
        case stopped
    }

    private var phase: Phase = .idle
    private var commands: [Command] = []
    private var waiters: [Waiter] = []

    enum PostAction: Equatable {
        case startThread
        case wakeThread
        /// The thread is awake, and collects commands before it sleeps.
        case nothing
        /// The command was not accepted, since the thread ends.
        case refuse
    }

    /// Adds a command.
    mutating func post(_ command: Command) -> PostAction {
        switch self.phase {
        case .idle:
            self.commands.append(command)
            self.phase = .running(isAsleep: false)
            return .startThread
        case .running(let isAsleep):
            self.commands.append(command)
            self.phase = .running(isAsleep: false)
            return isAsleep ? .wakeThread : .nothing
        case .stopping, .stopped:
            return .refuse
        }
    }

    enum StopAction: Equatable {
        case wakeThread
        case nothing
    }

    /// Makes the thread end.
    mutating func stop() -> StopAction {
        switch self.phase {
        case .idle:
            self.phase = .stopped
            return .nothing
        case .running:
            self.phase = .stopping
            return .wakeThread
        case .stopping, .stopped:
            return .nothing
        }
    }

    enum WaitAction: Equatable {
        case wait
        /// There is nothing to wait for.
        case resume
    }

    /// Registers a waiter for the end of the thread.
    mutating func waitUntilStopped(_ waiter: Waiter) -> WaitAction {
        if case .stopped = self.phase { return .resume }
        self.waiters.append(waiter)
        return .wait
    }

    enum CollectAction {
        /// Perform these, then collect again. When there are none the thread may sleep: a later command will wake it.
        case perform([Command])
        /// Clean up and end.
        case end
    }

    /// Returns the commands for the thread.
    mutating func collect() -> CollectAction {
        guard case .running = self.phase else { return .end }
        self.phase = .running(isAsleep: self.commands.isEmpty)
        return .perform(self.commands.take())
    }

    /// The commands that a thread did not perform, and those that wait for its end.
    typealias Rest = (commands: [Command], waiters: [Waiter])

    /// Ends the life of the thread, which has cleaned up.
    mutating func threadEnded() -> Rest {
        self.phase = .stopped
        return (self.commands.take(), self.waiters.take())
    }

    /// Notes that the thread could not be started. The next command starts it, unless it was to end meanwhile.
    mutating func threadFailed() -> Rest {
        guard case .running = self.phase else { return self.threadEnded() }
        self.phase = .idle
        return (self.commands.take(), [])
    }
}

extension Array {
    fileprivate mutating func take() -> Self {
        defer { self.removeAll() }
        return self
    }
}
