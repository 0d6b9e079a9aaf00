/// What callers leave for the engine's thread, and whether that must be woken for it.
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
        /// The thread is awake and looks here before it sleeps.
        case nothing
        /// Too late: the command was not taken.
        case refuse
    }

    /// Leaves a command.
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

    /// Asks the thread to end.
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

    /// Waits for the end of the thread.
    mutating func waitUntilStopped(_ waiter: Waiter) -> WaitAction {
        if case .stopped = self.phase { return .resume }
        self.waiters.append(waiter)
        return .wait
    }

    enum CollectAction {
        /// Do these, then ask again. When there are none the thread may sleep: a later command will wake it.
        case perform([Command])
        /// Clean up and end.
        case end
    }

    /// The engine's thread takes what was left for it.
    mutating func collect() -> CollectAction {
        guard case .running = self.phase else { return .end }
        self.phase = .running(isAsleep: self.commands.isEmpty)
        return .perform(self.commands.take())
    }

    /// The engine's thread has cleaned up, or never came to be. Returns the commands that it did not see, and whoever
    /// waits for the end.
    mutating func threadEnded() -> (commands: [Command], waiters: [Waiter]) {
        self.phase = .stopped
        return (self.commands.take(), self.waiters.take())
    }
}

extension Array {
    fileprivate mutating func take() -> Self {
        defer { self.removeAll() }
        return self
    }
}
