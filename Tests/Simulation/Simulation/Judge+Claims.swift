import EmulatorBackend
import MobileToken
import MobileTokenCloud
import PowerAuth

// The claims of agents and receipts, which the bank's books or the trace must prove.
extension Judge {
    /// An agent's statements about an operation.
    struct Statements {
        /// Indicates whether it has said that it decided.
        var hasDecided = false
    }

    // MARK: Agents

    mutating func heard(_ event: ApprovalAgent.Event, by process: Int, at now: Int64, _ book: Book?) {
        self.count("event \(event.kind.name)")
        guard let id = event.operation?.id else { return self.heard(event.kind, of: event.activationID, at: now) }
        let (name, own) = (self.name(of: id), Case(process: process, operationID: id))
        self.trace.said(event.kind, own, of: event.activationID, at: now)
        switch event.kind {
        case .decided(let verdict, let isInferred):
            let isApproval = if case .approve = verdict { true } else { false }
            if self.carriedOut[id]?.isApproval != isApproval {
                self.fail("\(name) was \(verdict)d, says an agent, and the bank knows nothing of it")
            } else if !isInferred, self.deciders[id] != process {
                self.fail("\(name) was decided by an agent, says that, and it was not its request")
            }
            self.statements[own, default: Statements()].hasDecided = true
        case .finishedElsewhere(let error):
            self.heardOfEnd(error, own, book, isLost: self.floors[event.activationID] != nil)
        case .refused(let error):
            // Nothing is sent that the store or the server has made impossible.
            if !self.refusedOperations.contains(id), !self.proves(error, of: event.activationID) {
                self.fail("\(name) was refused, says an agent, and the bank refused nothing: \(error)")
            }
            self.excused.insert(id)
        case .unknown:
            if !self.sentOperations.contains(id) {
                self.fail("nobody knows what became of \(name), says an agent, and nothing was sent")
            } else if book?.isOver == false, !self.lostKeys.contains(event.activationID) {
                self.fail("nobody knows what became of \(name), says an agent, and it is pending")
            } else if self.isStillTold(id, by: event.activationID) {
                self.fail("nobody knows what became of \(name), says an agent, and the next signature tells it")
            }
            self.excused.insert(id)
        case .unanswered:
            if !self.trace.called.contains(own) {
                self.fail("\(name) got no answer, says an agent, and nothing was sent")
            }
        case .retrying: self.trace.retried(own, at: now)
        case .left(.limitReached): self.heardOfLimit(event, at: now)
        // Gone from the list, or another process's now: whoever has it must decide it, unless it is over.
        case .gone: break
        default: break
        }
    }

    /// Returns whether the bank has not yet passed any of the signatures for an operation.
    private func isStillTold(_ id: String, by activationID: String) -> Bool {
        let own = self.intents.filter { $0.value.personalData?.operationID == id }.keys
        return self.floors[activationID] == nil && !own.isEmpty
            && own.allSatisfy { self.isWhole($0) && self.counters[$0.activationID] ?? 0 < $0.move }
    }

    /// An operation is over, and not by the agent that says so.
    private mutating func heardOfEnd(_ error: MobileTokenError, _ own: Case, _ book: Book?, isLost: Bool) {
        let name = self.name(of: own.operationID)
        guard let book, book.isOver else {
            return self.fail("\(name) is over elsewhere, says an agent, and it is pending: \(error)")
        }
        // An operation past its time has expired, even if it was canceled before.
        if let status = Self.status(of: error), status != book.status, status != .expired || !book.isLate {
            self.fail("\(name) is \(status.rawValue), says an agent, and it is \(book.status.rawValue)")
        }
        if !isLost, self.deciders[own.operationID] == own.process, self.statements[own]?.hasDecided != true {
            self.fail("\(name) was decided elsewhere, says the agent that decided it")
        }
        self.excused.insert(own.operationID)
    }

    /// Returns the end of an operation that an error tells; `nil` if it tells none.
    private static func status(of error: MobileTokenError) -> ServerOperation.Status? {
        switch error.code {
        case .operationAlreadyCanceled: .canceled
        case .operationAlreadyFailed: .failed
        case .operationAlreadyRejected: .rejected
        case _ where error.kinds.contains(.expired): .expired
        default: nil
        }
    }

    private mutating func heard(_ kind: ApprovalAgent.Event.Kind, of id: String, at now: Int64) {
        switch kind {
        case .stopped(let error):
            if !self.proves(error, of: id) { self.fail("an agent stops with \(id), and nothing explains it: \(error)") }
            (self.stopped[id], self.wrongs) = ("\(error)", [:])
        case .resumed: self.stopped[id] = nil
        case .stateChanged(let state): self.heard(state, of: id, at: now)
        default: break
        }
    }

    /// The time in which a frozen node may still report what it heard, and in which an agent finds out what became of what it had
    /// tried.
    static let memory: Int64 = 60_000_000_000

    private mutating func heard(_ state: OperationsFleet.ActivationState, of id: String, at now: Int64) {
        switch state.phase {
        case .starting, .active: self.said(isBlocked: false, of: id, at: now)
        case .blocked:
            self.said(isBlocked: true, of: id, at: now)
            if now > (self.blockedUntil[id] ?? .min / 2) + Self.memory, id != self.wrongFactor {
                self.fail("an agent says that \(id) is blocked, and it is not")
            }
        case .rolledBack:
            // At least twenty signatures are lost: it signs no more.
            self.count("activations rolled back")
            if !self.hasLost(20, of: id) { self.fail("an agent says that the store was restored, and it was not") }
            self.stopped[id] = "rolled back"
        case .deadlocked where self.floors[id] != nil || self.lostKeys.contains(id): self.stopped[id] = "deadlocked"
        default: self.fail("an agent says that \(id) is \(state.phase), and nothing explains it")
        }
    }

    /// Notes that an agent calls an activation blocked, or something else.
    private mutating func said(isBlocked: Bool, of activationID: String, at now: Int64) {
        let last = self.saidBlocked[activationID]?.last
        guard isBlocked else {
            guard let last, last.upperBound == .max else { return }
            self.saidBlocked[activationID]?.removeLast()
            self.saidBlocked[activationID]?.append(last.lowerBound...(now + Self.memory))
            return
        }
        if last?.upperBound != .max { self.saidBlocked[activationID, default: []].append(now ... .max) }
    }

    /// Returns whether the database has lost so many of an activation's signatures at once.
    private func hasLost(_ count: UInt64, of id: String) -> Bool {
        self.floors[id].map { $0 + count <= self.counters[id] ?? 0 } ?? false
    }

    /// Returns whether the world gave a reason to stop.
    private func proves(_ error: MobileTokenError, of id: String) -> Bool {
        switch error.code {
        case .authenticationFailed, .invalidAuthentication: self.refusedActivations.contains(id)
        case .signaturesAreLost: self.unfollowed[id] ?? 0 >= 10
        case .stateRolledBack: self.hasLost(20, of: id)
        case .deadlock: self.floors[id] != nil || self.lostKeys.contains(id)
        default: self.lostKeys.contains(id)
        }
    }

    // MARK: Receipts

    /// Notes a recorded outcome.
    mutating func appended(
        _ result: DecisionOutcome.Result,
        ofMove moves: UInt64,
        of activationID: String,
        at now: Int64,
        _ book: (String) -> Book?
    ) {
        self.count("outcomes")
        let signature = Signature(activationID: activationID, move: moves)
        (self.outcomes[signature], self.outcomeTimes[signature]) = (result, now)
        let (isDone, isWhole) = (self.decisions[signature] != nil, self.isWhole(signature))
        if result == .accepted, !isDone { self.fail("an outcome says accepted before the bank did it") }
        guard isWhole, let intent = self.intents[signature], let id = intent.personalData?.operationID else { return }
        let isOver = book(id)?.isOver ?? true
        let isAsDecided = self.carriedOut[id].map { $0.isApproval == (intent.verdict == .approve) } ?? false
        let name = self.name(of: id)
        switch result {
        case .refused, .notFollowed:
            if isDone { self.fail("an outcome says \(result.name), and the bank did it: \(name)") }
            if result == .notFollowed {
                // No clock ends it: only a later signature, or the end of the operation.
                if !isOver, self.counters[activationID] ?? 0 <= moves {
                    self.fail("an outcome says notFollowed, and the bank may still do it: \(name)")
                }
            } else if self.sent.contains(signature), !self.refused.contains(signature) {
                self.fail("an outcome says refused, and the bank refused nothing: \(name)")
            }
        case .followed, .inferred:
            if !self.followed.contains(signature) {
                self.fail("an outcome says \(result.name), and the bank did not follow: \(name)")
            }
            if result == .inferred, !isAsDecided {
                self.fail("an outcome says inferred, and the operation did not end so: \(name)")
            }
        case .unknown:
            // Another receipt of the operation may be the one that ended it: no answer tells whose signature did.
            let isContested = self.intents.contains { $0.key != signature && $0.value.personalData?.operationID == id }
            // An agent that was answered in vain until just now gives up when the operation's time is over.
            let isGivenUp =
                book(id)?.isLate ?? false && self.trace.hasRetried(since: now - Self.memory) { $0 == id }
            if !self.sent.contains(signature) {
                // A process that died before it sent leaves the same traces, once a later signature has moved the counter.
                if self.counters[activationID] ?? 0 <= moves {
                    self.fail("an outcome says unknown, and nothing was sent: \(name)")
                }
            } else if !isAsDecided, !(isOver && isContested), !isGivenUp, !self.lostKeys.contains(activationID) {
                self.fail("an outcome says unknown, and \(name) \(isOver ? "ended otherwise" : "is pending")")
            }
        case .accepted, .unanswered, .doubtful: break
        }
    }
}

extension ApprovalAgent.Event.Kind {
    /// The case's name.
    fileprivate var name: String {
        if case .retrying = self { return "again" }
        return String("\(self)".prefix { $0 != ":" && $0 != "," })
    }
}
