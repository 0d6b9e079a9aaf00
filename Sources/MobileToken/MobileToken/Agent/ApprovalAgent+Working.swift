import Basics
import Coordination
import PowerAuth
import Synchronization

// MARK: Events and work

extension ApprovalAgent {
    /// Handles events of activations polled in this process; the agent decides only for these.
    func followEvents() async {
        for await event in self.fleet.events() {
            switch event {
            case .changed(let news):
                self.unread.lists[ExactString(news.activationID)] = news.change
                self.takeUnread(of: ExactString(news.activationID))
            case .stateChanged(let id, let state): self.take(state, of: id)
            case .left(let id):
                self.adopted.remove(ExactString(id))
                self.readings[ExactString(id)] = nil
                self.forgetList(of: id)
                self.unreadable[ExactString(id)] = nil
                self.supervise { $0.release(id, at: self.now) }
                self.observers[ExactString(id)] = nil
            case .unreadable(let id, let operations): self.report(operations, of: id)
            case .failed(let id, let error): self.supervise { $0.pollFailed(error, of: id, at: self.now) }
            }
        }
    }

    /// Reports unreadable operations, each once while it stays unreadable.
    private func report(_ operations: [OperationList.Unreadable], of activationID: String) {
        let known = self.unreadable.updateValue(operations, forKey: ExactString(activationID)) ?? []
        for operation in operations
        where !known.contains(where: { $0.id == operation.id && $0.issue.reason == operation.issue.reason }) {
            self.report(Event(activationID: activationID, kind: .unreadable(operation)))
        }
    }

    /// Waits for nothing: meanwhile a reading might end, and take the list.
    private func take(_ state: OperationsFleet.ActivationState, of activationID: String) {
        self.report(Event(activationID: activationID, kind: .stateChanged(state)))
        self.supervise { $0.setHeld(!state.allowsDecisions, activationID, at: self.now) }
        if state.phase.isEnded { self.forget(activationID) }
        // The last decision is traced even if nothing is listed any more.
        let id = ExactString(activationID)
        guard state.phase != .starting, !self.adopted.contains(id),
            self.fleet.openedService(of: activationID) != nil
        else { return }
        if self.unread.lists[id] == nil { self.unread.lists[id] = OperationList.Change(wholeList: []) }
        self.takeUnread(of: id)
    }

    /// The delay before receipts are read again after a failure.
    private static let readingDelay = Duration.seconds(5)

    /// Handles the lists that wait for their receipts.
    func takeUnread() {
        guard self.unread.time <= self.now else { return }
        self.unread.time = .longest
        for id in self.unread.lists.keys { self.takeUnread(of: id) }
    }

    /// Handles an activation's latest list once the outcomes of earlier decisions are known; nothing is decided before.
    private func takeUnread(of id: ExactString) {
        guard self.adopted.contains(id) else {
            self.readOpenDecisions(of: id)
            return
        }
        guard let list = self.unread.lists.removeValue(forKey: id) else { return }
        let unreadable = list.removed.filter { $0.reason == .unreadable }.map { ExactString($0.operation.id) }
        self.supervise { $0.list(list.operations, unreadable: Set(unreadable), of: id.string, at: self.now) }
    }

    /// Resolves the last decisions of the only activation after its polling ended permanently, as far as that is possible at
    /// once.
    func findOutLastDecisions(of activationID: String) async {
        self.forget(activationID)
        if !self.adopted.contains(ExactString(activationID)) {
            await self.readOpenDecisions(of: ExactString(activationID)).value
        }
        await self.decisionsHaveEnded()
    }

    private func forgetList(of activationID: String) {
        self.unread.lists[ExactString(activationID)] = nil
        self.factors.drop(activationID)
    }

    private func forget(_ activationID: String) {
        self.forgetList(of: activationID)
        self.supervise { $0.forget(activationID, at: self.now) }
    }

    /// Reads the decisions sent by an earlier process, or by this one before it released the activation. A separate task, so that
    /// one slow store does not delay the events of other activations.
    @discardableResult
    private func readOpenDecisions(of id: ExactString) -> Task<Void, Never> {
        if let reading = self.readings[id] { return reading.task }
        self.lastReading += 1
        let number = self.lastReading
        let task = Self.start {
            let service = self.fleet.openedService(of: id.string)
            let result: Result<[OpenDecision]?, any Error>
            do { result = .success(try await self.openDecisions(of: service)) } catch { result = .failure(error) }
            await self.adopt(result, of: id, service, by: number)
        }
        self.readings[id] = (number, task)
        return task
    }

    /// Reads open decisions, for a few activations of each store at a time, because their decisions need the same connections.
    private nonisolated func openDecisions(of service: OperationsService?) async throws -> [OpenDecision]? {
        guard let evidence = try service?.evidence else { return nil }
        let store = evidence.store.map { "\(ObjectIdentifier($0))" } ?? ""
        try await self.storeReaders.enter(store)
        defer { self.storeReaders.leave(store) }
        return try await evidence.openDecisions()
    }

    /// Adopts the decisions read, and then handles the list. Does nothing if the activation was released during the read, because
    /// another process may have decided since.
    private func adopt(
        _ result: Result<[OpenDecision]?, any Error>,
        of id: ExactString,
        _ service: OperationsService?,
        by number: UInt64
    ) async {
        if case .failure(let error as MobileTokenError) = result { await self.fleet.handle(error, of: id.string) }
        guard self.readings[id]?.number == number else { return }
        self.readings[id] = nil
        guard case .success(let open?) = result, let service, let evidence = try? service.evidence else {
            self.unread.time = min(self.unread.time, self.now + Self.readingDelay)
            return self.setAlarm()
        }
        self.observers[id] = service.channel.observer
        self.adopted.insert(id)
        let decisions = open.map { ($0, timeLeft: evidence.timeLeft(of: $0)) }
        self.supervise { $0.adopt(decisions, of: id.string, at: self.now) }
        self.takeUnread(of: id)
    }

    /// Changes what is worked on, and does what follows.
    func supervise(_ change: (inout AgentSupervision) -> [AgentSupervision.Action]) {
        self.follow(self.supervision.withLock { change(&$0) })
    }

    private func follow(_ actions: [AgentSupervision.Action]) {
        for action in actions {
            switch action {
            case .review(let job, let review): self.begin(job, review)
            case .send(let job, let review, let verdict, let attempt):
                self.begin(job) { await self.sent(await self.send(verdict, review, attempt: attempt), by: job) }
            case .resolve(let job, let decision, let isOver, let isLast):
                self.begin(job) {
                    await self.resolved(await self.resolve(decision, isOver: isOver, isLast: isLast), by: job)
                }
            case .look(let activationID): self.look(at: activationID)
            case .cancel(let job): self.policies[job.number]?.cancel()
            case .unlisted(let operationID, let activationID):
                self.broadcast.send { start in
                    start.forget(operationID, of: activationID)
                    return nil
                }
            case .report(let event): self.report(event)
            }
        }
        self.setAlarm()
    }

    func report(_ event: Event) {
        self.broadcast.send { start in
            start.note(event)
            return event
        }
        if let observer = self.observers[ExactString(event.activationID)],
            let report = MobileTokenObservation.Agent(event)
        {
            observer.agentReported(report)
        }
        if case .stopped(let error) = event.kind { self.stopped(error, event.activationID) }
    }

    private func stopped(_ error: MobileTokenError, _ activationID: String) {
        self.factors.drop(activationID)
        // The agent retries lost signatures by itself.
        guard self.onlyActivationID != nil, error.code != .signaturesAreLost else { return }
        self.endReason = error
        self.ended.raise()
    }

    /// Sets one alarm for everything that waits, at once, so that no overdue one is left behind.
    func setAlarm() {
        let unread = self.unread.lists.isEmpty || self.unread.time == .longest ? nil : self.unread.time
        let next = [self.supervision.withLock { $0.nextWakeUp() }, self.factors.nextEnd, unread].compactMap { $0 }.min()
        guard next != self.alarm?.time else { return }
        if let alarm = self.alarm.take() { self.fleet.alarms.cancel(alarm.id) }
        if let next, self.standing.isRunning { self.alarm = (next, self.fleet.alarms.set(self.wake, at: next)) }
    }

    // MARK: Beginning and ending

    /// Starts work outside the actor; canceling ``run()`` does not cancel it.
    @discardableResult
    static func start(_ work: @escaping @concurrent @Sendable () async -> Void) -> Task<Void, Never> {
        Task { @concurrent in await work() }
    }

    private func begin(_ job: AgentSupervision.Job, _ review: OperationReview) {
        self.policies[job.number] = Self.start { [policy] in
            let result: AgentSupervision.PolicyResult
            do { result = .verdict(try await policy(review)) } catch { result = .failed(error) }
            await self.policyReturned(result, from: job)
        }
    }

    private func policyReturned(_ result: AgentSupervision.PolicyResult, from job: AgentSupervision.Job) {
        self.policies[job.number] = nil
        self.supervise { $0.policyReturned(result, from: job, at: self.now) }
    }

    /// Begins work outside ``run()``'s task, so that canceling it does not cancel signed decisions.
    private func begin(_ job: AgentSupervision.Job, _ work: @escaping @Sendable () async -> Void) {
        self.decisions[job.number] = Self.start(work)
    }

    private func sent(_ error: MobileTokenError?, by job: AgentSupervision.Job) async {
        if let error, error.unansweredDecision == nil {
            switch DecisionFailure(error) {
            case .paused: self.foundPause()
            case .ofActivation, .passing: await self.fleet.handle(error, of: job.activationID)
            case .finished, .unusable, .final, .limited: break
            }
        }
        let random = self.configuration.random()
        self.supervise { $0.sent(error, by: job, at: self.now, random: random) }
        self.decisions[job.number] = nil
    }

    private func resolved(_ result: AgentSupervision.Resolution, by job: AgentSupervision.Job) {
        let random = self.configuration.random()
        self.supervise { $0.resolved(result, by: job, at: self.now, random: random) }
        self.decisions[job.number] = nil
    }

    // MARK: Factors

    /// Runs `body` with the factors, and again with newly unlocked ones if these are outdated, as after an upgrade by another
    /// process.
    @concurrent
    nonisolated func withFactors<Value: Sendable>(
        of channel: any AuthenticatedChannel,
        _ body: (Activation.Authentication) async throws -> Value
    ) async throws -> Value {
        do {
            return try await self.withFactorsOnce(of: channel, body)
        } catch let error as MobileTokenError where error.showsOutdatedFactors {
            return try await self.withFactorsOnce(of: channel, body)
        }
    }

    /// Runs `body` with the factors, and drops them if they are outdated.
    @concurrent
    private nonisolated func withFactorsOnce<Value: Sendable>(
        of channel: any AuthenticatedChannel,
        _ body: (Activation.Authentication) async throws -> Value
    ) async throws -> Value {
        do {
            return try await body(try await self.authentication(with: channel))
        } catch let error as MobileTokenError where error.showsOutdatedFactors {
            await self.dropFactors(of: channel.activationID)
            throw error
        }
    }

    private func dropFactors(of activationID: String) { self.factors.drop(activationID) }

    /// Returns the kept factors, or unlocks them.
    private func authentication(with channel: any AuthenticatedChannel) async throws -> Activation.Authentication {
        let id = channel.activationID
        if let kept = self.factors.factor(of: id, at: self.now) { return kept }
        do {
            let authentication = try await self.unlockInTime(channel)
            self.factors.keep(authentication, of: id, at: self.now)
            self.setAlarm()
            return authentication
        } catch let error as MobileTokenError {
            throw error
        } catch {
            throw MobileTokenError(
                .factorsUnavailable,
                "The factors of the activation could not be had",
                underlying: error
            )
        }
    }
}

extension ApprovalAgent {
    /// Unlocks factors within the policy's deadline. A slower closure is canceled but not awaited: the process cannot release the
    /// activation during a decision.
    private func unlockInTime(_ channel: any AuthenticatedChannel) async throws -> Activation.Authentication {
        let limit = self.configuration.policyDeadline.bounded
        let (task, subscription) = SharedTask<Activation.Authentication>.makeJoined()
        task.start { [unlock] in try await unlock(channel) }
        let unlocked = try await withDeadline(self.now + limit, on: self.fleet.alarms.clock) {
            try await task.value(for: subscription)
        }
        guard let unlocked else {
            throw MobileTokenError(.factorsUnavailable, "The factors of the activation were not had in \(limit)")
        }
        return unlocked
    }
}

extension OperationsFleet.ActivationState {
    /// Indicates whether decisions may be signed, which the server would refuse in some phases.
    fileprivate var allowsDecisions: Bool {
        !self.phase.isWaiting && !self.phase.isEnded
    }
}

extension MobileTokenError {
    /// Indicates whether nothing was sent because the factors predate a change.
    fileprivate var showsOutdatedFactors: Bool { self.code == .factorOutdated && self.decision == nil }
}
