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
    private struct Look {
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

    /// Draws the conclusions that need no answer: of another life of the ledger, of a holder that is gone, of time that is over.
    func followed(_ stored: Stored) async throws -> Stored {
        if stored.isForeign {
            guard !stored.record.state.isFinal else { return stored }
            return try await self.ledger.change(stored) {
                $0.loseTrack("The ledger went back since the question was drafted", at: self.now)
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

    // MARK: Creating

    private func send(_ noted: [Int], _ look: inout Look) async throws {
        var sent = Set(noted)
        for index in noted { try await self.create(index, &look) }
        while let index = look.stored.record.toSend(at: self.now, patience: self.patience).first(where: {
            !sent.contains($0)
        }) {
            sent.insert(index)
            var record = look.stored.record
            record.send(index, at: self.now)
            guard let stored = try await self.ledger.swap(look.stored, to: record) else {
                // Another process was quicker, and may be sending.
                look.stored = try await self.loaded(record.key)
                return
            }
            look.stored = stored
            try await self.create(index, &look)
        }
    }

    private func create(_ index: Int, _ look: inout Look) async throws {
        do {
            let hasAsked = try await self.learnTime()
            if try await self.server.waitForTurns() || hasAsked || !look.isCurrent {
                guard try await self.mayCreate(index, &look) else { return }
            }
            look.isCurrent = false
            let record = look.stored.record
            let operation = NewApprovalOperation(
                userID: record.parts[index].person.user,
                template: record.terms.template,
                parameters: try record.parameters(index),
                language: record.terms.language,
                externalID: try record.binding(index).string,
                expires: self.serverNow.addingSaturated(record.terms.seconds * 1_000)
            )
            let answer = try await self.server.unpaced.create(operation)
            guard try record.mayBeOurs(answer.value, index) else {
                // Taken for ours, somebody else's operation would be canceled. The one that was asked for may exist all the same.
                throw ServerFailure(
                    .unanswered(isOutcomeUnknown: true),
                    code: "invalidResponse",
                    message: "The answer is of another question's operation",
                    date: answer.date
                )
            }
            self.note(answer.date ?? answer.value.created)
            try await self.created(answer, index, &look)
        } catch let failure as ServerFailure {
            look.note(failure)
            self.note(failure, look.stored.record)
            switch failure.kind {
            case .refused, .notFound, .notPending:
                look.stored = try await self.ledger.change(look.stored) {
                    $0.unsend(index)
                    $0.end(
                        .failed,
                        .failed,
                        "The server refused to ask (\(DisplayText.escaped(failure.code)))",
                        at: self.now
                    )
                }
            case .unanswered(isOutcomeUnknown: false):
                look.stored = try await self.ledger.change(look.stored) { $0.unsend(index) }
            case .unanswered(isOutcomeUnknown: true), .canceled:
                // Created again after the time in which it may still arrive.
                break
            }
        }
    }

    /// Looks at the question once more, before a person is asked after a wait: it may have ended meanwhile, or another process may have
    /// taken the creation for lost.
    private func mayCreate(_ index: Int, _ look: inout Look) async throws -> Bool {
        let noted = look.stored.record.parts[index]
        look.stored = try await self.loaded(look.stored.record.key)
        var record = look.stored.record
        let part = record.parts[index]
        guard record.state.isPending, part.operationID == nil, part.attempts == noted.attempts, part.sent == noted.sent
        else { return false }
        // Others count the time in which it may arrive from what is noted.
        guard let sent = part.sent, self.now.subtractingSaturated(sent).magnitude > 1_000 else { return true }
        record.postpone(index, to: self.now)
        guard let stored = try await self.ledger.swap(look.stored, to: record) else { return false }
        look.stored = stored
        return true
    }

    /// Takes an operation that was created, if it is what was asked.
    private func created(_ answer: Dated<ApprovalOperation>, _ index: Int, _ look: inout Look) async throws {
        let record = look.stored.record
        let operation = answer.value
        var reading = try record.read(operation, index)
        var evidence = PersonalApproval.Evidence.answer
        var data: String?
        if reading == .unreadable, let offline = try await self.offlineData(of: operation, record, index) {
            reading = try record.read(operation, index, offlineData: offline)
            (evidence, data) = (.offlineCode, offline)
        }
        let ending: (ApprovalState, ApprovalError.Code, String)?
        switch reading {
        case .verified where operation.data == nil && record.terms.demandsDevice:
            ending = (.failed, .cannotVerify, "The server does not tell factors or devices, which the request demands")
        case .verified: ending = nil
        case .mismatch(let objection):
            ending = (.mismatched, .bindingMismatch, "The server asks something else: \(objection)")
        case .unreadable where record.terms.demandsDevice:
            ending = (.failed, .cannotVerify, "The server does not tell factors or devices, which the request demands")
        case .unreadable where record.terms.acceptsUnverifiedData || record.terms.deviceKeys != nil:
            // The device's signature tells the data, once there is one.
            (ending, evidence) = (nil, .unverifiedData)
        case .unreadable:
            ending = (
                .failed, .cannotVerify,
                "The server does not show the data that are signed, and no offline QR code tells them"
            )
        }
        look.stored = try await self.ledger.change(look.stored) { record in
            _ = record.adopt(operation, for: index, date: answer.date, data: data, evidence: evidence, at: self.now)
            if let (state, code, message) = ending { record.end(state, code, message, at: self.now) }
        }
    }

    /// The data of an operation as the offline QR code of a registration tells them: its fourth line.
    private func offlineData(of operation: ApprovalOperation, _ record: QuestionRecord, _ index: Int) async throws
        -> String?
    {
        guard let registration = record.terms.offlineRegistrations[record.parts[index].person.user] else { return nil }
        do {
            let answer = try await self.server.offlineCode(ofOperation: operation.id, registration: registration)
            self.note(answer.date)
            return Self.data(inOfflineCode: answer.value, of: operation.id)
        } catch {
            self.note(error, record)
            return nil
        }
    }

    /// Returns the data in an offline QR code: identifier, title, message, data, flags, perhaps a one-time code, nonce, signature.
    ///
    /// A title or a message with lines of its own would move another line to the place of the data. So any other number of lines tells
    /// nothing, nor do flags that are none.
    private static func data(inOfflineCode code: String, of operationID: String) -> String? {
        let lines = code.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard lines.count == 7 || lines.count == 8 && lines[5].allSatisfy(\.isASCIIDigit) && !lines[5].isEmpty,
            lines[0].elementsEqual(operationID.utf8), lines[4].allSatisfy(\.isASCIICapital)
        else { return nil }
        return String(Substring(lines[3]))
    }

    // MARK: Polling

    private func poll(_ indices: [Int], _ look: inout Look) async throws {
        var answers: [(index: Int, answer: Dated<ApprovalOperation>)] = []
        for index in indices {
            guard look.stored.record.toPoll.contains(index), let id = look.stored.record.parts[index].operationID else {
                continue
            }
            do {
                let answer = try await self.server.show(operation: id)
                self.note(answer.date)
                answers.append((index, answer))
            } catch {
                look.note(error)
                self.note(error, look.stored.record)
            }
        }
        // A "no" ends the question, in whatever order the people stand who said yes.
        let rejections = answers.filter { $0.answer.value.status == "REJECTED" }
        for (index, answer) in rejections + answers.filter({ $0.answer.value.status != "REJECTED" })
        where look.stored.record.toPoll.contains(index) {
            try await self.answered(answer, index, &look)
        }
    }

    private func answered(_ answer: Dated<ApprovalOperation>, _ index: Int, _ look: inout Look) async throws {
        let operation = answer.value
        let now = self.now
        let record = look.stored.record
        if case .mismatch(let objection) = try record.read(operation, index) {
            look.stored = try await self.ledger.change(look.stored) {
                $0.end(.mismatched, .bindingMismatch, "The server shows something else: \(objection)", at: now)
            }
            return
        }
        let end: QuestionRecord.Part.Answer
        switch operation.status {
        case "PENDING":
            look.stored = try await self.ledger.change(look.stored) {
                $0.stillPending(index, date: answer.date ?? now)
                if let date = answer.date, date > operation.expires.addingSaturated(QuestionRecord.expiryTolerance) {
                    $0.end(.expired, .expired, "Nobody decided in time", at: now)
                }
            }
            return
        case "APPROVED": end = .approved
        case "REJECTED": end = .rejected
        case "CANCELED": end = .canceled
        case "EXPIRED": end = .expired
        case "FAILED": end = .failed
        default:
            // A word that nobody knows decides nothing.
            look.failed = true
            self.report(.serverFailed, record, "The server says '\(DisplayText.escaped(operation.status, limit: 64))'")
            return
        }
        let signatures = self.withState { $0.signatures(of: operation.id) }
        if end == .approved, record.terms.deviceKeys != nil, operation.deviceSignature == nil, signatures.isEmpty,
            self.configuration.callbackPassword != nil
        {
            let now = self.clock.now
            guard self.withState({ !$0.awaitsSignature(of: operation.id, at: now) }) else { return }
        }
        look.stored = try await self.ledger.change(look.stored) { $0.answer(index, end, operation, signatures, at: now) }
    }

    // MARK: Canceling

    /// Tells the server of what is over, until it says so itself.
    private func cancel(_ look: inout Look) async throws {
        for id in look.stored.record.toCancel {
            let isStray = look.stored.record.parts.contains { $0.strays.contains { $0.isExactly(id) } }
            do {
                guard let operation = try await self.end(id, of: look.stored.record) else { continue }
                let wasApproved = operation.status == "APPROVED"
                let now = self.now
                look.stored = try await self.ledger.change(look.stored) { $0.isOver(operation, at: now) }
                if wasApproved { self.report(.surplusApproval, look.stored.record) }
                if isStray { self.report(.strayCanceled, look.stored.record) }
            } catch let failure as ServerFailure {
                guard failure.kind != .notFound else {
                    look.stored = try await self.ledger.change(look.stored) { $0.isOver(id) }
                    continue
                }
                look.note(failure)
                self.note(failure, look.stored.record)
            }
        }
    }

    /// Cancels an operation, and returns it once it is over; `nil` while it is not.
    private func end(_ id: String, of record: QuestionRecord) async throws(ServerFailure) -> ApprovalOperation? {
        var answer: Dated<ApprovalOperation>
        do {
            answer = try await self.server.cancel(operation: id, reason: record.state.rawValue)
        } catch  where error.kind == .notPending || error.kind == .refused {
            answer = try await self.server.show(operation: id)
        }
        self.note(answer.date)
        return ApprovalState.serverEnds.contains(answer.value.status) ? answer.value : nil
    }

    // MARK: Strays

    /// Looks at operations of which callbacks told while a creation is lost, one a second.
    ///
    /// - Returns: `true` when there was one.
    @discardableResult
    func lookUpUnrecognized() async throws -> Bool {
        var hasLooked = false
        while let id = self.withState({ $0.takeUnrecognized(at: self.clock.now) }) {
            hasLooked = true
            let answer: Dated<ApprovalOperation>
            do { answer = try await self.server.show(operation: id) } catch { continue }
            self.note(answer.date)
            for key in self.withState({ Array($0.withStrays) }) {
                // One that cannot be read keeps the others from nothing.
                guard let stored = try? await self.ledger.load(key), !stored.isForeign else { continue }
                for index in stored.record.parts.indices where try stored.record.isOurs(answer.value, index) {
                    var look = Look(stored: stored)
                    if stored.record.parts[index].operationID == nil, stored.record.state.isPending {
                        try await self.created(answer, index, &look)
                    } else {
                        look.stored = try await self.ledger.change(stored) { $0.addStray(answer.value.id, index) }
                    }
                    self.withState {
                        $0.takeUp(look.stored.record, at: self.clock.now, limits: self.configuration.limits)
                    }
                    try await self.cancel(&look)
                }
            }
        }
        return hasLooked
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
    private func learnTime() async throws(ServerFailure) -> Bool {
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
