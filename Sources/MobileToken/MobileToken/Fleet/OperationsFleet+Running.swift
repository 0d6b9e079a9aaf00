import Basics
import Coordination
import PowerAuthClient

extension OperationsFleet {
    /// The number of activations opened concurrently.
    static let openingLimit = 8

    /// Polls until the calling task is canceled, and then returns, for service runners.
    ///
    /// When it returns, decisions in progress have ended and buckets are released. The end of an activation does not end it.
    ///
    /// An ``ApprovalAgent`` runs its fleet itself. Meanwhile this call waits, and polls if the agent ends first.
    ///
    /// - Throws: `MobileTokenError` if no store can be read at the start, the membership cannot participate, or this fleet or
    ///   another one with the same client is running.
    public func run() async throws {
        guard !self.isClaimed else { throw MobileTokenError(.invalidConfiguration, "The fleet is running already") }
        self.isClaimed = true
        defer { self.isClaimed = false }
        try await cancelingAtShutdown { try await self.runInTurn() }
    }

    /// Waits until no other caller runs the fleet, and runs it until the calling task is canceled.
    func runInTurn() async throws {
        guard await self.turn.wait() else { return }
        defer { self.turn.raise() }
        try self.installLimiters()
        defer { self.removeLimiters() }
        self.standing.isRunning = true
        defer { self.standing.isRunning = false }
        self.wasAssigned = false
        if let failure = await self.findActivations(), self.storedIDs.isEmpty { throw failure }
        do {
            try await self.runUntilCanceled()
        } catch {
            await self.releaseAll()
            if !(error is CancellationError) { throw error }
            return
        }
        await self.releaseAll()
    }

    private func installLimiters() throws {
        for (client, limiter) in zip(self.clients, self.limiterIndices) where !client.setLimiter(self.limiters[limiter])
        {
            self.removeLimiters()
            throw MobileTokenError(
                .invalidConfiguration,
                "Another fleet is running with this client, by limits of its own: run one of them, or give each a client"
            )
        }
    }

    private func removeLimiters() {
        for (client, limiter) in zip(self.clients, self.limiterIndices) { client.removeLimiter(self.limiters[limiter]) }
    }

    private func releaseAll() async {
        await self.assign(OperationsFleet.Assignment(buckets: []))
        await self.only?.follow(for: ObjectIdentifier(self), nil)
    }

    private func runUntilCanceled() async throws {
        let membership = self.configuration.division
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.takePart(in: membership) }
            group.addTask { await self.pump() }
            if self.only == nil {
                group.addTask { await self.searchStores() }
            } else {
                group.addTask { try await self.waitForEnd() }
            }
            defer { group.cancelAll() }
            try await group.next()
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    private func takePart(in membership: any FleetMembership) async throws {
        guard let membership = membership as? any FailureReportingMembership else {
            return try await membership.run { await self.assign($0) }
        }
        try await membership.run {
            await self.assign($0)
        } report: { failure in
            await self.noteOutcome(failure, of: .membership)
        }
    }

    private func waitForEnd() async throws {
        guard await self.ended.wait(), let reason = self.members.all.values.first?.state.reason else { return }
        throw reason
    }

    private func searchStores() async {
        let clock = self.alarms.clock
        let interval = self.configuration.storeInterval.bounded
        while (try? await clock.sleep(until: clock.now + interval)) != nil {
            _ = await self.findActivations()  // what goes wrong is in the health, and is tried again
        }
    }

    // MARK: The pump

    /// Begins due work, and sleeps until the next: one sleep for all activations.
    private func pump() async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                for id in self.inbox.take() { self.plan(id) }
                let next = self.begin { job in group.addTask { await self.perform(job) } }
                await self.sleep(until: next)
            }
        }
    }

    private func sleep(until next: Duration) async {
        // Requests due within a tick begin together.
        let tick = self.configuration.tick
        let time = next < .longest && tick > .zero ? tick * (next / tick).rounded(.up) : next
        self.sleepingUntil = time
        let alarm = time < .longest ? self.alarms.set(self.inbox.wake, at: time) : nil
        _ = await self.inbox.wake.wait()
        if let alarm { self.alarms.cancel(alarm) }
        self.sleepingUntil = .zero
    }

    /// Indicates whether nothing can happen before time passes, for tests.
    package var isIdle: Bool {
        let delayed = self.limiters.reduce(0) { $0 + $1.delayedCount }
        let underWay = self.members.all.values.count { $0.isBusy }
        return self.sleepingUntil > self.now && !self.inbox.isRaised && underWay <= delayed
    }

    /// Begins all work that may begin now.
    ///
    /// - Returns: The time of the next check, unless something happens earlier.
    private func begin(_ start: (FleetJob) -> Void) -> Duration {
        let now = self.now
        while let (id, _) = self.due.removeFirst(dueAt: now) { self.enqueue(id) }
        let waits = self.queues.indices.map { self.begin(queue: $0, at: now, start) }
        return min(waits.min() ?? .longest, self.due.earliest() ?? .longest)
    }

    private func enqueue(_ id: ExactString) {
        guard let member = self.members[id] else { return }
        member.isQueued = true
        self.queues[member.opening.isOpened ? 1 + self.limiterIndices[member.client] : 0].append(id)
    }

    private func begin(queue: Int, at now: Duration, _ start: (FleetJob) -> Void) -> Duration {
        while let id = self.queues[queue].first {
            let member = self.members[id]
            switch self.begin(id, member, at: now, start) {
            case .go:
                self.queues[queue].popFirst()
                member?.isQueued = false
                self.plan(id, member)
            case .wait(let time): return time
            case .waitForEnd: return .longest
            }
        }
        return .longest
    }

    /// Begins the next work of an activation.
    ///
    /// - Returns: `.go` if it has begun, or there is none.
    private func begin(
        _ id: ExactString,
        _ member: FleetMember?,
        at now: Duration,
        _ start: (FleetJob) -> Void
    ) -> GuestRules.Step {
        guard let member, member.isOurs, !member.isBusy else { return .go }
        guard member.opening.isOpened else { return self.beginOpening(id, member, at: now, start) }
        return self.beginRequest(of: id, member, at: now, start)
    }

    private func beginOpening(
        _ id: ExactString,
        _ member: FleetMember,
        at now: Duration,
        _ start: (FleetJob) -> Void
    ) -> GuestRules.Step {
        guard case .open(let time) = member.opening.step(at: now), time <= now else { return .go }
        guard self.openingCount < Self.openingLimit else { return .waitForEnd }
        self.openingCount += 1
        member.isBusy = true
        start(FleetJob(id: id, work: .open(client: member.client, member.opened)))
        return .go
    }

    private func beginRequest(
        of id: ExactString,
        _ member: FleetMember,
        at now: Duration,
        _ start: (FleetJob) -> Void
    ) -> GuestRules.Step {
        guard let service = member.service, let runner = member.runner, let time = service.poller.next, time <= now
        else { return .go }
        let limiter = self.limiter(of: member)
        let step = limiter?.beginPoll(at: now) ?? .go
        guard step == .go else { return step }
        guard case .send(let request) = service.poller.step(runner) else {
            limiter?.endPoll()
            return .go
        }
        member.isBusy = true
        start(FleetJob(id: id, work: .send(request, service, limiter)))
        return .go
    }

    private func limiter(of member: FleetMember) -> ServerLimiter? {
        self.limiters.isEmpty ? nil : self.limiters[self.limiterIndices[member.client]]
    }

    /// Sets the activation's due time.
    func plan(_ id: ExactString) { self.plan(id, self.members[id]) }

    private func plan(_ id: ExactString, _ member: FleetMember?) {
        guard let member, member.isOurs else { return }
        self.reportState(of: id, member)
        guard member.isOurs, !member.isBusy, !member.isQueued else { return }
        switch member.opening.step(at: self.now) {
        case .open(let time): self.setDue(id, at: time)
        case .end: self.due.remove(id)
        case .poll, .askStatus:
            guard let service = member.service, !member.state.phase.isEnded else { return }
            if self.takePollingTurn(id, member, service), let time = service.poller.next { self.setDue(id, at: time) }
        }
    }

    private func setDue(_ id: ExactString, at time: Duration) {
        self.due.insert((), for: id, at: time)
        if time < self.sleepingUntil { self.inbox.raise() }
    }

    // MARK: Jobs

    private nonisolated func perform(_ job: FleetJob) async {
        let outcome: FleetOutcome
        do {
            switch job.work {
            case .open(let client, let opened):
                outcome = .opened(try await self.opened(opened, job.id, startingWith: client))
            case .send(let request, let service, _):
                try await service.send(request)
                outcome = .sent
            }
        } catch let error as MobileTokenError {
            outcome = .failed(error)
        } catch {
            outcome = .canceled
        }
        if case .opened(let opened) = outcome { await self.follow(opened, as: job.id) }
        await self.end(job, outcome)
    }

    private nonisolated func opened(
        _ opened: OpenedService?,
        _ id: ExactString,
        startingWith client: Int
    ) async throws -> OpenedService {
        if let opened { opened } else { try await self.open(id, startingWith: client) }
    }

    private func end(_ job: FleetJob, _ outcome: FleetOutcome) {
        let member = self.members[job.id]
        member?.isBusy = false
        switch job.work {
        case .open:
            self.openingCount -= 1
            if self.queues[0].first != nil { self.inbox.raise() }
        case .send(_, _, let limiter): limiter?.endPoll()
        }
        if let member, self.concernsWhatIsPolled(job, member) { self.record(outcome, of: job, member) }
        self.plan(job.id, member)
    }

    /// Returns whether a job began after its activation was last taken. The outcome of an earlier one does not apply.
    private func concernsWhatIsPolled(_ job: FleetJob, _ member: FleetMember) -> Bool {
        guard member.isOurs else { return false }
        return switch job.work {
        case .open: true
        case .send(_, let service, _): service === member.service
        }
    }

    /// Records a job's outcome. The service of an open activation has already updated its condition.
    private func record(_ outcome: FleetOutcome, of job: FleetJob, _ member: FleetMember) {
        switch (outcome, job.work) {
        case (.opened, _):
            member.opening.recordOpening()
            self.endOpening(job.id)
        case (.sent, _): self.noteSuccess(of: .activation(job.id))
        case (.failed(let error), .open):
            member.opening.recordOpeningFailure(error, at: self.now)
            self.noteFailure(error, of: .activation(job.id))
            self.streams.reportFailure(error, of: job.id.string)
            self.endOpening(job.id)
        case (.failed(let error), .send): self.noteFailure(error, of: .activation(job.id))
        case (.canceled, _): break
        }
    }
}
