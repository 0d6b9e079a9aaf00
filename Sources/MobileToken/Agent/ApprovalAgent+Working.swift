import Basics
import Coordination
import PowerAuth

// MARK: Events and work

extension ApprovalAgent {
    /// Handles what the fleet polls in this process, by which alone an agent decides.
    func followEvents() async {
        for await event in self.fleet.polledEvents() {
            switch event {
            case .changed(let news):
                self.unread.lists[ExactString(news.activationID)] = news.change.operations
                await self.takeUnread(of: news.activationID)
            case .stateChanged(let id, let state): await self.take(state, of: id)
            case .left(let id):
                self.adopted.remove(ExactString(id))
                self.adoptions[ExactString(id)] = nil
                self.forgetList(of: id)
                self.follow(self.supervision.release(id, at: self.now))
                self.observers[ExactString(id)] = nil
            case .failed: break
            }
        }
    }

    private func take(_ state: OperationsFleet.ActivationState, of activationID: String) async {
        self.report(Event(activationID: activationID, kind: .stateChanged(state)))
        self.follow(self.supervision.setHeld(!state.allowsDecisions, activationID, at: self.now))
        if state.phase.isEnded { self.forget(activationID) }
        // The last decision is traced even when nothing is listed any more, or ever will be.
        let id = ExactString(activationID)
        guard state.phase != .starting, !self.adopted.contains(id),
            await self.fleet.openedService(of: activationID) != nil
        else { return }
        if self.unread.lists[id] == nil { self.unread.lists[id] = [] }
        await self.takeUnread(of: activationID)
    }

    /// The time after a failure at which the receipts are read again.
    private static let readingDelay = Duration.seconds(5)

    /// Takes the lists again that wait for their receipts.
    func takeUnread() async {
        guard self.unread.time <= self.now else { return }
        self.unread.time = .longest
        for id in self.unread.lists.keys { await self.takeUnread(of: id.string) }
    }

    /// Takes the latest list of an activation, once it is known what was decided last: nothing is decided before.
    private func takeUnread(of activationID: String) async {
        guard await self.adoptOpenDecisions(of: activationID) else {
            self.unread.time = min(self.unread.time, self.now + Self.readingDelay)
            return self.setAlarm()
        }
        // Meanwhile it may have been taken, or forgotten.
        guard let operations = self.unread.lists.removeValue(forKey: ExactString(activationID)) else { return }
        self.follow(self.supervision.list(operations, of: activationID, at: self.now))
    }

    /// Polling of the only activation has ended for good, which the news may come too late to tell: what was decided last is
    /// found out about all the same, as far as it can be without waiting for another time.
    func findOutLastDecisions(of activationID: String) async {
        self.forget(activationID)
        _ = await self.adoptOpenDecisions(of: activationID)
        await self.decisionsHaveEnded()
    }

    private func forgetList(of activationID: String) {
        self.unread.lists[ExactString(activationID)] = nil
        self.factors.drop(activationID)
    }

    private func forget(_ activationID: String) {
        self.forgetList(of: activationID)
        self.follow(self.supervision.forget(activationID, at: self.now))
    }

    /// Traces first the decisions that an earlier process, or this one before it let go of the activation, has sent.
    ///
    /// - Returns: `true` when all of that is known.
    private func adoptOpenDecisions(of activationID: String) async -> Bool {
        let id = ExactString(activationID)
        guard !self.adopted.contains(id) else { return true }
        self.lastAdoption += 1
        let adoption = self.lastAdoption
        self.adoptions[id] = adoption
        do {
            guard let service = await self.fleet.openedService(of: activationID) else { return false }
            let evidence = try service.evidence
            let open = try await evidence.openDecisions().map { ($0, timeLeft: evidence.timeLeft(of: $0)) }
            // If the activation has left during the reading, another process may have decided since.
            guard self.adoptions[id] == adoption else { return false }
            self.adoptions[id] = nil
            self.observers[id] = service.channel.observer
            self.adopted.insert(id)
            self.follow(self.supervision.adopt(open, of: activationID, at: self.now))
            return true
        } catch {
            if let error = error as? MobileTokenError { await self.fleet.handle(error, of: activationID) }
            return false
        }
    }

    func follow(_ actions: [AgentSupervision.Action]) {
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

    private func report(_ event: Event) {
        self.broadcast.send { start in
            start.note(event)
            return event
        }
        if let observer = self.observers[ExactString(event.activationID)], let report = Observed.Agent(event) {
            observer.agentReported(report)
        }
        if case .stopped(let error) = event.kind { self.stopped(error, event.activationID) }
    }

    private func stopped(_ error: MobileTokenError, _ activationID: String) {
        self.factors.drop(activationID)
        guard self.onlyActivationID != nil else { return }
        self.endReason = error
        self.ended.raise()
    }

    /// One alarm for everything that waits, set at once so that none of the past is left behind.
    func setAlarm() {
        let unread = self.unread.lists.isEmpty || self.unread.time == .longest ? nil : self.unread.time
        let next = [self.supervision.nextWakeUp(), self.factors.nextEnd, unread].compactMap { $0 }.min()
        guard next != self.alarm?.time else { return }
        if let alarm = self.alarm.take() { self.fleet.alarms.cancel(alarm.id) }
        if let next, self.isRunning { self.alarm = (next, self.fleet.alarms.set(self.wake, at: next)) }
    }

    // MARK: Beginning and ending

    /// Starts work off the actor that the task of ``run()`` does not cancel.
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
        self.follow(self.supervision.policyReturned(result, from: job, at: self.now))
    }

    /// Not a child of ``run()``'s task, so that what is signed is not canceled with it.
    private func begin(_ job: AgentSupervision.Job, _ work: @escaping @Sendable () async -> Void) {
        self.decisions[job.number] = Self.start(work)
    }

    private func sent(_ error: MobileTokenError?, by job: AgentSupervision.Job) async {
        if let error, error.unansweredDecision == nil {
            switch DecisionFailure(error) {
            case .paused: self.foundPause()
            case .ofActivation, .passing: await self.fleet.handle(error, of: job.activationID)
            case .finished, .unusable, .final: break
            }
        }
        self.follow(self.supervision.sent(error, by: job, at: self.now, random: self.configuration.random()))
        self.decisions[job.number] = nil
    }

    private func resolved(_ result: AgentSupervision.Resolution, by job: AgentSupervision.Job) {
        self.follow(self.supervision.resolved(result, by: job, at: self.now, random: self.configuration.random()))
        self.decisions[job.number] = nil
    }

    // MARK: Factors

    /// Runs `body` with the factors to sign with, and once more with newly unlocked ones if these turn out to sign nothing any
    /// more, as after an upgrade by another process.
    @concurrent
    nonisolated func withFactors<Value: Sendable>(
        of channel: any AuthenticatedChannel,
        _ body: (Authentication) async throws -> Value
    ) async throws -> Value {
        do {
            return try await self.withFactorsOnce(of: channel, body)
        } catch let error as MobileTokenError where error.showsOutdatedFactors {
            return try await self.withFactorsOnce(of: channel, body)
        }
    }

    /// Runs `body` with the factors to sign with, and keeps none that sign nothing any more.
    @concurrent
    private nonisolated func withFactorsOnce<Value: Sendable>(
        of channel: any AuthenticatedChannel,
        _ body: (Authentication) async throws -> Value
    ) async throws -> Value {
        do {
            return try await body(try await self.authentication(with: channel))
        } catch let error as MobileTokenError where error.showsOutdatedFactors {
            await self.dropFactors(of: channel.activationID)
            throw error
        }
    }

    private func dropFactors(of activationID: String) { self.factors.drop(activationID) }

    /// Returns the factors that are kept, or unlocks them.
    private func authentication(with channel: any AuthenticatedChannel) async throws -> Authentication {
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
    /// Unlocks factors within the time that a policy may take. A closure that takes longer is canceled, and not waited for: this process
    /// can give the activation to no other one while a decision is under way.
    private func unlockInTime(_ channel: any AuthenticatedChannel) async throws -> Authentication {
        let limit = self.configuration.policyDeadline.bounded
        let (task, subscription) = SharedTask<Authentication>.makeJoined()
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
    /// Indicates whether decisions may be signed: not while the server would refuse each of them.
    fileprivate var allowsDecisions: Bool {
        !self.phase.isWaiting && !self.phase.isEnded
    }
}

extension MobileTokenError {
    /// Indicates whether nothing was sent, since the factors are of before a change.
    fileprivate var showsOutdatedFactors: Bool { self.code == .factorOutdated && self.decision == nil }
}
