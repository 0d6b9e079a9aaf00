import EmulatorBackend

/// The failed attempts of activations, and the changes of the world that explain them.
struct FailedAttempts {
    private var allowances: [String: Int] = [:]
    private var failures: [String: Int] = [:]
    /// The failed attempts of the processes with a wrong password.
    private var mistakes: [Int: Int] = [:]
    /// The latest commits of signatures whose failure is explained.
    private var early: [String: [Int64]] = [:]

    fileprivate mutating func allow(_ id: String) { self.allowances[id, default: 0] += 1 }
    fileprivate mutating func allow(_ id: String, committedBy time: Int64) { self.early[id, default: []].append(time) }
    fileprivate mutating func mistyped(by process: Int) { self.mistakes[process] = 0 }
    fileprivate mutating func clear(_ id: String) { self.failures[id] = 0 }

    /// - Returns: The number of earlier attempts of a process with a wrong password; `nil` if it has none.
    fileprivate mutating func mistake(of process: Int) -> Int? {
        guard let count = self.mistakes[process] else { return nil }
        self.mistakes[process] = count + 1
        return count
    }

    /// - Returns: `true` if the failure is explained.
    fileprivate mutating func explain(_ id: String, committedAt time: Int64?) -> Bool {
        if let time, let index = self.early[id]?.firstIndex(where: { time <= $0 }) {
            self.early[id]?.remove(at: index)
            return true
        }
        self.failures[id, default: 0] += 1
        return self.failures[id, default: 0] <= self.allowances[id, default: 0]
    }
}

extension Judge {
    /// Allows one more failed attempt of an activation: a request may be duplicated, or overtaken by others.
    mutating func allowFailure(of activationID: String?) {
        if let activationID { self.attempts.allow(activationID) }
    }

    /// Allows one more failed attempt of a signature that was committed by then.
    mutating func allowFailure(of activationID: String, committedBy time: Int64) {
        self.attempts.allow(activationID, committedBy: time)
    }

    /// Notes that a process signs with a wrong password, which costs one failed attempt.
    mutating func mistyped(by process: Int) {
        self.count("passwords mistyped")
        self.attempts.mistyped(by: process)
    }

    /// Notes that the bank unblocked an activation, and reset its failed attempts.
    mutating func failuresWereCleared(of activationID: String) { self.attempts.clear(activationID) }

    /// Handles a signed request that moved no counter: the signature was invalid, or not verified.
    mutating func failed(_ flight: Flight, _ reply: Reply, _ id: String) {
        // A blocked activation's signatures are not verified.
        if reply.isOfBlocked { return }
        guard reply.status == 401 else { return }
        if let earlier = self.attempts.mistake(of: flight.process) {
            if earlier > 0 { self.fail("a wrong password of \(id) is tried again") }
            return
        }
        if flight.isAutomatic, id == self.wrongFactor {
            return self.count("wrong passwords of agents")
        }
        self.count("failed attempts")
        if !self.attempts.explain(id, committedAt: flight.commit?.time) {
            self.fail("a signature of \(id) is wrong, and nothing explains it: \(reply.verdict)")
        }
    }
}

extension Reply {
    /// Indicates that the bank looked at no signature, because the activation is blocked.
    var isOfBlocked: Bool {
        if case .refused(let reason) = self.verdict { reason.contains("the activation is ") } else { false }
    }
}
