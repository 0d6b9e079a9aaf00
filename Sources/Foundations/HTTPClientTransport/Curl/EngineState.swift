/// The callers' commands for the engine's thread, and the state of the thread. It only decides; the owner starts, wakes and
/// resumes outside the lock.
struct EngineState<Command: Sendable, Waiter: Sendable>: Sendable {
    private enum Phase {
        /// The thread starts with the first command.
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
        /// The command was refused, because the thread is ending.
        case refuse
    }

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
        case resume
    }

    /// Registers a waiter for the thread's end.
    mutating func waitUntilStopped(_ waiter: Waiter) -> WaitAction {
        if case .stopped = self.phase { return .resume }
        self.waiters.append(waiter)
        return .wait
    }

    enum CollectAction {
        /// Perform these, then collect again. Without commands the thread may sleep: a later one wakes it.
        case perform([Command])
        /// Clean up and end.
        case end
    }

    mutating func collect() -> CollectAction {
        guard case .running = self.phase else { return .end }
        self.phase = .running(isAsleep: self.commands.isEmpty)
        return .perform(self.commands.take())
    }

    /// Unperformed commands, and the waiters for the thread's end.
    typealias Rest = (commands: [Command], waiters: [Waiter])

    /// Records the end of the thread after its cleanup.
    mutating func threadEnded() -> Rest {
        self.phase = .stopped
        return (self.commands.take(), self.waiters.take())
    }

    /// Records that the thread could not be started. The next command retries, unless the engine was stopped.
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
