import Basics
import Coordination
import MobileTokenCloud
import Synchronization

/// Follows questions: asks, polls, cancels, and records the results.
///
/// One task at a time steps a question; concurrent callers join its step. A step continues if its caller leaves, so that requests
/// to the server are recorded.
final class DeskCore: Sendable {
    typealias Stored = Ledger.Stored

    let ledger: Ledger
    let server: PacedCloud
    let configuration: ApprovalDesk.Configuration
    let clock: ServiceClock
    let events = Broadcast(startingWith: ApprovalEventBuffer())
    /// Raised when the poller has earlier work.
    let poller = Signal()
    private let state = Mutex(DeskState())

    init(ledger: Ledger, cloud: CloudClient, configuration: ApprovalDesk.Configuration) {
        self.ledger = ledger
        self.configuration = configuration
        self.clock = ServiceClock(configuration.clock)
        self.server = PacedCloud(
            cloud,
            requestsPerSecond: configuration.limits.requestsPerSecond,
            clock: self.clock
        )
    }

    /// The time in milliseconds since 1970.
    var now: Int64 { self.configuration.now().milliseconds }
    /// The maximum duration of a request, in milliseconds.
    var timeout: Int64 { self.server.timeout.milliseconds }
    /// The time in milliseconds after which an unanswered creation can no longer arrive.
    var patience: Int64 { self.timeout.addingSaturated(5_000) }

    func withState<Result: Sendable>(_ body: (inout DeskState) throws -> sending Result) rethrows -> sending Result {
        try self.state.withLock { try body(&$0) }
    }

    // MARK: Asking

    /// Records a question and asks it, or finds it.
    func ask(_ request: ApprovalRequest) async throws -> Stored {
        let terms = try request.terms(audience: self.ledger.audience)
        let key = LedgerKey(audience: terms.audience, id: terms.id)
        if let held = try await self.ledger.load(key) { return try await self.join(held, terms) }
        // From here on the caller waits.
        var record = QuestionRecord(terms, at: self.now)
        try await self.checkDevices(terms, since: record.asked)
        // The people asked at once are recorded in the same commit.
        let now = self.now
        let indices = record.toSend(at: now, patience: self.patience)
        for index in indices { record.send(index, at: now) }
        let limits = self.configuration.limits
        let drafting = try await self.ledger.draft(
            record,
            maximumOpen: limits.openQuestions,
            interval: limits.questionInterval
        )
        switch drafting {
        case .refused(let error): throw error
        case .held(let held): return try await self.join(held, terms)
        case .drafted(let stored): return await self.told(try await self.step(key, from: stored, sending: indices))
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

    /// Throws if a person has no device that may decide.
    private func checkDevices(_ terms: Terms, since asked: Int64) async throws {
        guard let devices = terms.devices else { return try await self.requireDevices(terms, since: asked) }
        var users: [String] = []
        for device in devices {
            guard self.now.subtractingSaturated(asked) < terms.milliseconds else {
                throw ApprovalError(.failed, "The server takes too long to tell of the devices: nobody was asked")
            }
            do {
                let answer = try await self.server.call { try await $0.registration(device) }
                if answer.value.status == .active { users.append(answer.value.userID) }
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

    /// Throws if, according to the server, too few people have a device.
    private func requireDevices(_ terms: Terms, since asked: Int64) async throws {
        let approvers = terms.approvers
        var (count, without) = (0, [String]())
        for person in approvers.people where count < approvers.needed {
            // If the server does not tell or is slow, the question is asked anyway.
            guard self.now.subtractingSaturated(asked) < terms.milliseconds,
                let hasDevice = try await self.server.hasDevice(person.user)
            else { return }
            if hasDevice { count += 1 } else { without.append(person.id) }
        }
        guard count < approvers.needed else { return }
        let names = without.joined(separator: ", ")
        throw ApprovalError(.noDevice, "There is no active device of \(names): nobody was asked")
    }

    func loaded(_ key: LedgerKey) async throws -> Stored {
        guard let stored = try await self.ledger.load(key) else {
            throw ApprovalError(.ledgerWentBack, "The question is no longer in the ledger")
        }
        return stored
    }

    // MARK: Steps

    /// Performs a question's current step, or joins one in progress.
    ///
    /// - Parameters:
    ///   - stored: The question as just read or written; `nil` to read it. If it has changed since, all writes fail until it is
    ///     read again.
    ///   - indices: The people whose creation is already recorded, and sent by this step.
    /// - Returns: The question after the step.
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
        // The joined step did not know of them.
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
        // The end is known before the server is notified, which may take time.
        if !look.stored.isForeign, look.stored.record.state.isFinal {
            if before.isFinal { try await self.cancel(&look) }
        } else if !look.stored.isForeign {
            // People just asked have not answered yet.
            let asked = look.stored.record.toPoll
            try await self.send(sending, &look)
            try await self.poll(asked, &look)
            // An answer may allow asking the next person.
            if look.stored.record.terms.approvers.isInOrder { try await self.send([], &look) }
            if !look.stored.record.state.isFinal { try await self.cancel(&look) }
        }
        let record = look.stored.record
        self.plan(record, failed: look.failed, retryAfter: look.retryAfter, isNew: record.state != before)
        if record.state != before { self.report(record.state == .open ? .asked : .changed, record) }
        return look.stored
    }

    /// Notifies the server of a question's end, and waits at most two seconds. The step continues, and is repeated after a
    /// failure.
    ///
    /// - Returns: The question, as far as known then.
    func told(_ stored: Stored) async -> Stored {
        guard stored.record.state.isFinal, !stored.isForeign, !stored.record.toCancel.isEmpty else { return stored }
        let told = try? await withDeadline(self.clock.now + .seconds(2), on: self.clock) {
            try await self.step(stored.record.key)
        }
        return told ?? stored
    }

    /// Plans a question's next poll, if it needs one.
    ///
    /// - Parameter isNew: `true` if its state is new.
    func plan(_ record: QuestionRecord, failed: Bool = false, retryAfter: Duration? = nil, isNew: Bool = false) {
        self.withState {
            $0.plan(
                record,
                at: self.clock.now,
                date: self.now,
                patience: self.patience,
                timeout: self.timeout,
                limits: self.configuration.limits,
                failed: failed,
                retryAfter: retryAfter,
                isNew: isNew
            )
        }
    }

    /// A step in progress.
    struct Look {
        var stored: Stored
        /// Indicates that only ledger operations were awaited since the question was read.
        var isCurrent = true
        var failed = false
        var retryAfter: Duration?

        mutating func note(_ failure: CloudError) {
            self.failed = true
            if let retryAfter = failure.retryAfter { self.retryAfter = max(retryAfter, self.retryAfter ?? .zero) }
        }
    }

    /// Draws the conclusions that need no response: a rollback of the ledger or a row, a lost holder, and the passed deadline.
    func followed(_ stored: Stored) async throws -> Stored {
        let followed = try await self.concluded(stored)
        self.withState { $0.note(followed.record) }
        return followed
    }

    private func concluded(_ stored: Stored) async throws -> Stored {
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
        return try await self.ledger.change(stored) {
            $0.expire(at: self.now, patience: self.patience, timeout: self.timeout)
        }
    }

    // MARK: Withdrawing

    /// Records a withdrawal, and notifies the server.
    func withdraw(_ key: LedgerKey, reason: String) async throws {
        let stored = try await self.followed(try await self.loaded(key))
        guard !stored.record.state.wasClaimed else { throw stored.record.alreadyPerformed }
        let changed = try await self.ledger.change(stored) { $0.end(.withdrawn, .canceled, reason, at: self.now) }
        guard !changed.record.state.wasClaimed else { throw changed.record.alreadyPerformed }
        if changed.record.state != stored.record.state { self.report(.changed, changed.record) }
        // A step in progress may have read the question before.
        try await self.step(key)
        if try await !self.loaded(key).record.toCancel.isEmpty { try await self.step(key) }
    }

    // MARK: Notes

    /// The server's time or a later one, or the desk's if unknown.
    var serverNow: Int64 { self.server.now ?? self.now }

    func note(_ failure: CloudError, _ record: QuestionRecord) {
        let message = "\(failure.name): \(failure.message)"
        self.withState { $0.lastError = message }
        self.report(.serverFailed, record, message)
    }

    func report(_ kind: ApprovalEvent.Kind, _ record: QuestionRecord, _ message: String? = nil) {
        self.withState { $0.note(record) }
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

    /// Reports each unreadable row of the ledger once. Unreadable rows are ignored.
    func note(unreadable keys: [LedgerKey]) {
        for key in self.withState({ $0.note(unreadable: keys) }) {
            let message = "The row \(key) of the ledger is damaged, missing, or an earlier one: nothing is done with it"
            self.withState { $0.lastError = message }
            self.report(.questionUnreadable, "", "", .unknown, message)
        }
    }
}

extension Terms {
    /// Indicates whether the request requires data that only undocumented responses contain.
    var demandsDevice: Bool { self.factors != nil || self.devices != nil || self.minimumDeviceAge != nil }
}

/// The unread events of a stream. A slow reader loses the oldest.
struct ApprovalEventBuffer: SubscriptionBuffer {
    private static let capacity = 1_000

    private var unread = FIFO<ApprovalEvent>()

    mutating func append(_ event: ApprovalEvent) {
        if self.unread.count >= Self.capacity { _ = self.unread.popFirst() }
        self.unread.append(event)
    }

    mutating func removeFirst() -> ApprovalEvent? { self.unread.popFirst() }
}
