import Basics
import Coordination
import Foundation
import Synchronization

/// Looks after questions: asks, polls, cancels, and writes down what follows.
///
/// Each question is stepped by one task at a time; whoever needs the step meanwhile joins it. A step goes on when its caller leaves: what the
/// server was asked to do is written down.
final class DeskCore: Sendable {
    typealias Stored = Ledger.Stored

    let ledger: Ledger
    let server: PacedServer
    let configuration: ApprovalDesk.Configuration
    let clock: ServiceClock
    let events = EventHub()
    /// Raised when the poller has something to do earlier than it thought.
    let poller = Signal()
    private let state = Mutex(DeskState())

    init(ledger: Ledger, server: any ApprovalServer, configuration: ApprovalDesk.Configuration) {
        self.ledger = ledger
        self.configuration = configuration
        self.clock = ServiceClock(configuration.clock)
        self.server = PacedServer(
            server,
            requestsPerSecond: configuration.limits.requestsPerSecond,
            clock: self.clock
        )
    }

    /// In milliseconds since 1970.
    var now: Int64 { self.configuration.now().milliseconds }
    /// After how many milliseconds a creation without an answer cannot arrive any more.
    var patience: Int64 { (self.server.timeout + .seconds(5)).milliseconds }

    func withState<Result: Sendable>(_ body: (inout DeskState) throws -> sending Result) rethrows -> sending Result {
        try self.state.withLock { try body(&$0) }
    }

    // MARK: Asking

    /// Writes a question down and asks it, or finds it.
    func ask(_ request: ApprovalRequest) async throws -> Stored {
        let terms = try request.terms(audience: self.ledger.audience)
        let key = LedgerKey(audience: terms.audience, id: terms.id)
        if let held = try await self.ledger.load(key) { return try await self.join(held, terms) }
        try await self.checkDevices(terms)
        var record = QuestionRecord(terms, at: self.now)
        // Whoever is asked at once is noted in the same commit.
        let indices = record.toSend(at: record.asked, patience: self.patience)
        for index in indices { record.send(index, at: record.asked) }
        let limits = self.configuration.limits
        let drafting = try await self.ledger.draft(
            record,
            maximumOpen: limits.openQuestions,
            interval: limits.questionInterval
        )
        switch drafting {
        case .refused(let error): throw error
        case .held(let held): return try await self.join(held, terms)
        case .drafted(let stored): return try await self.step(key, from: stored, sending: indices)
        }
    }

    private func join(_ held: Stored, _ terms: Terms) async throws -> Stored {
        guard held.record.fixed.ask(theSameAs: terms) else {
            throw ApprovalError(.alreadyAsked, "A question of this name was asked with other content")
        }
        let stored = try await self.followed(held)
        self.withState { $0.takeUp(stored.record, at: self.clock.now, limits: self.configuration.limits) }
        return stored
    }

    /// Refuses to ask a person none of whose devices may decide.
    private func checkDevices(_ terms: Terms) async throws {
        guard let devices = terms.devices else { return }
        var users: [String] = []
        for device in devices {
            do {
                let answer = try await self.server.show(registration: device)
                self.note(answer.date)
                if answer.value.status == "ACTIVE" { users.append(answer.value.userID) }
            } catch  where error.kind == .notFound {
                continue
            } catch {
                try Task.checkCancellation()
                throw ApprovalError(
                    .failed,
                    "The server does not tell of a device: nobody was asked",
                    underlying: error
                )
            }
        }
        for person in terms.approvers.people where !users.contains(where: { $0.isExactly(person.user) }) {
            throw ApprovalError(.noDevice, "None of the devices named is an active one of \(person): nobody was asked")
        }
    }

    func loaded(_ key: LedgerKey) async throws -> Stored {
        guard let stored = try await self.ledger.load(key) else {
            throw ApprovalError(.ledgerWentBack, "The question is no longer in the ledger")
        }
        return stored
    }

    // MARK: Steps

    /// Does what is to be done for a question now. Joins the step under way, if there is one.
    ///
    /// - Parameters:
    ///   - stored: The question as it was read or written a moment ago; `nil` to read it. Should it have changed since, no write succeeds
    ///     before it is read again.
    ///   - indices: The people whose creation was noted already, to be sent by this step.
    /// - Returns: The question as the step left it.
    @discardableResult
    func step(_ key: LedgerKey, from stored: Stored? = nil, sending indices: [Int] = []) async throws -> Stored {
        let (task, subscription, isNew) = self.withState {
            state -> (SharedTask<Stored>, SharedTask<Stored>.Subscription, Bool) in
            if let task = state.steps[key], let subscription = task.join() { return (task, subscription, false) }
            let (task, subscription) = SharedTask<Stored>.makeJoined()
            state.steps[key] = task
            return (task, subscription, true)
        }
        if isNew {
            _ = task.detach()
            task.start {
                defer { self.endStep(task, key) }
                return try await self.advance(key, from: stored, sending: indices)
            }
        }
        let result = try await task.value(for: subscription)
        // The step that was joined did not know of them.
        if !isNew, !indices.isEmpty { return try await self.step(key, sending: indices) }
        return result
    }

    private func endStep(_ task: SharedTask<Stored>, _ key: LedgerKey) {
        let signals = self.withState { state in
            if state.steps[key] === task { state.steps[key] = nil }
            return state.signals(for: key)
        }
        for signal in signals { signal.raise() }
        self.poller.raise()
    }

    private func advance(_ key: LedgerKey, from stored: Stored?, sending: [Int]) async throws -> Stored {
        let hasWaited = try await self.lookUpUnrecognized()
        var look: Look
        if let stored, !hasWaited {
            look = Look(stored: stored)
        } else {
            look = Look(stored: try await self.loaded(key))
        }
        let before = look.stored.record.state
        look.stored = try await self.followed(look.stored)
        if !look.stored.isForeign {
            // Whoever is asked just now has not answered yet.
            let asked = look.stored.record.toPoll
            try await self.send(sending, &look)
            try await self.poll(asked, &look)
            // An answer may let the next person be asked.
            if look.stored.record.terms.approvers.isInOrder { try await self.send([], &look) }
            try await self.cancel(&look)
        }
        let record = look.stored.record
        self.plan(record, failed: look.failed, retryAfter: look.retryAfter)
        if record.state != before { self.report(record.state == .open ? .asked : .changed, record) }
        return look.stored
    }

    /// Plans the next look at a question, if it needs one.
    func plan(_ record: QuestionRecord, failed: Bool = false, retryAfter: Duration? = nil) {
        self.withState {
            $0.plan(
                record,
                at: self.clock.now,
                date: self.now,
                patience: self.patience,
                limits: self.configuration.limits,
                failed: failed,
                retryAfter: retryAfter
            )
        }
    }

    /// A step under way.
    struct Look {
        var stored: Stored
        /// Nothing but the ledger was waited for since the question was read.
        var isCurrent = true
        var failed = false
        var retryAfter: Duration?

        mutating func note(_ failure: ServerFailure) {
            self.failed = true
            if let retryAfter = failure.retryAfter { self.retryAfter = max(retryAfter, self.retryAfter ?? .zero) }
        }
    }

    /// Draws the conclusions that need no answer: of a ledger or a row that went back, of a holder that is gone, of time that is
    /// over.
    func followed(_ stored: Stored) async throws -> Stored {
        if stored.isForeign {
            guard !stored.record.state.isFinal else { return stored }
            return try await self.ledger.change(stored) {
                $0.loseTrack("The ledger, or this row of it, went back since the question was drafted", at: self.now)
            }
        }
        if stored.record.state == .claimed, let token = stored.record.claim?.token {
            if try await self.ledger.isHeld(token) { return stored }
            return try await self.ledger.change(stored) {
                guard $0.claim?.token == token else { return }
                $0.loseTrack("The process that acted is gone, and did not say how far it came", at: self.now)
            }
        }
        return try await self.ledger.change(stored) { $0.expire(at: self.now, patience: self.patience) }
    }

    // MARK: Withdrawing

    /// Writes that a question is withdrawn, and lets the server know.
    func withdraw(_ key: LedgerKey, reason: String) async throws {
        let stored = try await self.followed(try await self.loaded(key))
        guard !stored.record.state.wasClaimed else { throw stored.record.alreadyPerformed }
        let changed = try await self.ledger.change(stored) { $0.end(.withdrawn, .canceled, reason, at: self.now) }
        guard !changed.record.state.wasClaimed else { throw changed.record.alreadyPerformed }
        if changed.record.state != stored.record.state { self.report(.changed, changed.record) }
        // A step under way may have read the question before.
        try await self.step(key)
        if try await !self.loaded(key).record.toCancel.isEmpty { try await self.step(key) }
    }

    // MARK: Notes

    /// Learns the server's time.
    func note(_ date: Int64?) {
        guard let date else { return }
        let (now, wall) = (self.clock.now, self.now)
        self.withState { $0.note(serverTime: date, at: now, wall: wall) }
    }

    /// The server's time as far as it is known, otherwise the desk's.
    var serverNow: Int64 {
        let now = self.clock.now
        return self.withState { $0.serverNow(at: now) } ?? self.now
    }

    /// Asks for the server's time, unless it was heard a short while ago. By it the time to decide ends, whatever the desk's clock says.
    ///
    /// - Returns: `true` when it was asked for.
    func learnTime() async throws(ServerFailure) -> Bool {
        let now = self.clock.now
        guard self.withState({ $0.mustAskForTime(at: now) }) else { return false }
        if let date = try await self.server.time() {
            self.note(date)
        } else {
            self.withState { $0.noteTimeless(at: now) }
        }
        return true
    }

    func note(_ failure: ServerFailure, _ record: QuestionRecord) {
        self.note(failure.date)
        let message = "\(failure.code): \(failure.message)"
        self.withState { $0.lastError = message }
        self.report(.serverFailed, record, message)
    }

    func report(_ kind: ApprovalEvent.Kind, _ record: QuestionRecord, _ message: String? = nil) {
        self.report(kind, record.terms.id, record.fingerprint, record.state, message ?? record.reason?.message)
    }

    func report(
        _ kind: ApprovalEvent.Kind,
        _ questionID: String,
        _ fingerprint: String,
        _ state: ApprovalState,
        _ message: String?
    ) {
        let event = ApprovalEvent(
            kind: kind,
            questionID: questionID,
            fingerprint: fingerprint,
            state: state,
            message: message,
            date: self.configuration.now()
        )
        self.configuration.observer?(event)
        self.events.send(event)
    }

    /// Tells of rows of the ledger that cannot be read: each once, and nothing is done for any of them.
    func note(unreadable keys: [LedgerKey]) {
        for key in self.withState({ $0.note(unreadable: keys) }) {
            let message = "The row \(key) of the ledger is damaged, missing, or an earlier one: nothing is done with it"
            self.withState { $0.lastError = message }
            self.report(.questionUnreadable, "", "", .unknown, message)
        }
    }
}

extension Terms {
    /// Indicates that the request demands to see what only undocumented answers tell.
    var demandsDevice: Bool { self.factors != nil || self.devices != nil || self.minimumDeviceAge != nil }
}

/// Hands events to any number of streams. A slow reader loses the oldest.
final class EventHub: Sendable {
    private let sinks = Mutex<[UInt64: AsyncStream<ApprovalEvent>.Continuation]>([:])
    private let last = Atomic<UInt64>(0)

    func stream() -> AsyncStream<ApprovalEvent> {
        let (stream, sink) = AsyncStream.makeStream(of: ApprovalEvent.self, bufferingPolicy: .bufferingNewest(1_000))
        let id = self.last.add(1, ordering: .relaxed).newValue
        self.sinks.withLock { $0[id] = sink }
        sink.onTermination = { [weak self] _ in self?.sinks.withLock { _ = $0.removeValue(forKey: id) } }
        return stream
    }

    func send(_ event: ApprovalEvent) {
        for sink in self.sinks.withLock({ Array($0.values) }) { sink.yield(event) }
    }

    deinit { for sink in self.sinks.withLock({ $0.values }) { sink.finish() } }
}
