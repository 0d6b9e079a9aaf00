import Basics
import Coordination
import PowerAuth

extension OperationsFleet {
    /// How many activations are opened at once.
    private static let openingLimit = 8

    /// Polls until the calling task is canceled, and then returns: the form that service runners ask for.
    ///
    /// When it returns, decisions under way have ended and buckets are given back. Activations that end do not end it.
    ///
    /// An ``ApprovalAgent`` runs its fleet itself. This call waits meanwhile, and polls when the agent ends first.
    ///
    /// - Throws: `MobileTokenError` when no store can be read at the start, when the membership cannot take part, or when the
    ///   fleet, or another one with the same client, is running already.
    public func run() async throws {
        guard !self.isClaimed else { throw MobileTokenError(.invalidConfiguration, "The fleet is running already") }
        self.isClaimed = true
        defer { self.isClaimed = false }
        try await self.runInTurn()
    }

    /// Waits until no other caller runs the fleet, and runs it until the calling task is canceled.
    func runInTurn() async throws {
        guard await self.turn.wait() else { return }
        defer { self.turn.raise() }
        try self.installGates()
        defer { self.removeGates() }
        self.isRunning = true
        defer { self.isRunning = false }
        self.wasAssigned = false
        if let failure = await self.findActivations(), self.storedIDs.isEmpty { throw failure }
        do {
            try await self.runUntilCanceled()
        } catch {
            await self.letGoOfAll()
            if !(error is CancellationError) { throw error }
            return
        }
        await self.letGoOfAll()
    }

    private func installGates() throws {
        for (client, gate) in zip(self.clients, self.gateIndices) where !client.setGate(self.gates[gate]) {
            self.removeGates()
            throw MobileTokenError(
                .invalidConfiguration,
                "Another fleet is running with this client, by limits of its own: run one of them, or give each a client"
            )
        }
    }

    private func removeGates() {
        for (client, gate) in zip(self.clients, self.gateIndices) { client.removeGate(self.gates[gate]) }
    }

    private func letGoOfAll() async {
        await self.assign(FleetAssignment(buckets: []))
        for id in self.members.keys { self.streams.vanished(id.string) }
    }

    private func runUntilCanceled() async throws {
        let membership = self.configuration.membership
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await membership.run { await self.assign($0) } }
            group.addTask { await self.searchStores() }
            group.addTask { await self.pump() }
            if let sharing = self.streams.sharing {
                let receiver = ListReceiver {
                    await self.listedElsewhere($0)
                } failed: {
                    await self.noteFailure($0, of: .membership)
                }
                group.addTask { await sharing.follow(receiver) }
            }
            defer { group.cancelAll() }
            try await group.next()
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    private func searchStores() async {
        let clock = self.alarms.clock
        let interval = self.configuration.storeInterval.bounded
        while (try? await clock.sleep(until: clock.now + interval)) != nil {
            _ = await self.findActivations()  // what goes wrong is in the health, and is tried again
        }
    }

    // MARK: The pump

    /// Begins what is due, and sleeps to what is due next: one sleep for all activations.
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
        // What falls due within a tick begins together.
        let tick = self.configuration.tick
        let time = next < .longest && tick > .zero ? tick * (next / tick).rounded(.up) : next
        self.sleepingUntil = time
        let alarm = time < .longest ? self.alarms.set(self.inbox.wake, at: time) : nil
        _ = await self.inbox.wake.wait()
        if let alarm { self.alarms.cancel(alarm) }
        self.sleepingUntil = .zero
    }

    /// Whether nothing can happen before time passes, for tests that would have to guess otherwise.
    package var isIdle: Bool {
        let delayed = self.gates.reduce(0) { $0 + $1.delayedCount }
        let underWay = self.members.values.count { $0.activity != nil }
        return self.sleepingUntil > self.now && !self.inbox.isRung && underWay <= delayed
    }

    /// Begins what may begin now.
    ///
    /// - Returns: When to look again, unless something happens before.
    private func begin(_ start: (FleetJob) -> Void) -> Duration {
        let now = self.now
        while let (id, _) = self.due.removeFirst(dueAt: now) { self.lineUp(id) }
        let waits = self.lines.indices.map { self.begin(line: $0, at: now, start) }
        return min(waits.min() ?? .longest, self.due.earliest() ?? .longest)
    }

    private func lineUp(_ id: ExactString) {
        guard let member = self.members[id] else { return }
        self.members[id]?.isInLine = true
        self.lines[member.service == nil ? 0 : 1 + self.gateIndices[member.client]].append(id)
    }

    private func begin(line: Int, at now: Duration, _ start: (FleetJob) -> Void) -> Duration {
        while let id = self.lines[line].first {
            switch self.begin(id, at: now, start) {
            case .go:
                self.lines[line].removeFirst()
                self.members[id]?.isInLine = false
                self.plan(id)
            case .wait(let time): return time
            case .waitForEnd: return .longest
            }
        }
        return .longest
    }

    /// Begins what is to be done with an activation next.
    ///
    /// - Returns: `.go` when that was begun, and when there was nothing to begin.
    private func begin(_ id: ExactString, at now: Duration, _ start: (FleetJob) -> Void) -> GuestRules.Step {
        guard let member = self.members[id], member.isOurs, member.activity == nil else { return .go }
        switch member.condition.step(at: now) {
        case .open(let time) where time <= now:
            guard self.openingCount < Self.openingLimit else { return .waitForEnd }
            self.openingCount += 1
            self.members[id]?.activity = .opening
            start(FleetJob(id: id, work: .open(client: member.client, member.opened)))
        case .askStatus(let time) where time <= now:
            guard let service = member.service else { return .go }
            let step = self.gate(of: member).beginPoll(at: now)
            guard step == .go else { return step }
            self.members[id]?.activity = .asking
            start(FleetJob(id: id, work: .ask(service, self.gate(of: member))))
        case .poll:
            return self.beginPoll(of: id, member, at: now, start)
        case .open, .askStatus, .end: break
        }
        return .go
    }

    private func beginPoll(
        of id: ExactString,
        _ member: FleetMember,
        at now: Duration,
        _ start: (FleetJob) -> Void
    ) -> GuestRules.Step {
        guard let service = member.service, let runner = member.runner, let time = service.poller.nextPoll, time <= now
        else { return .go }
        let gate = self.gate(of: member)
        let step = gate.beginPoll(at: now)
        guard step == .go else { return step }
        if member.condition.comparesFirst(at: now) {
            self.members[id]?.activity = .asking
            start(FleetJob(id: id, work: .compare(service, gate)))
            return .go
        }
        guard case .poll(let lag) = service.poller.step(runner) else {
            gate.endPoll()
            return .go
        }
        self.members[id]?.activity = .polling
        start(FleetJob(id: id, work: .poll(service, gate, lag: lag)))
        return .go
    }

    private func gate(of member: FleetMember) -> ServerGate { self.gates[self.gateIndices[member.client]] }

    /// Sets when an activation falls due, from what is known of it.
    func plan(_ id: ExactString) {
        guard let member = self.members[id], member.isOurs, member.activity == nil, !member.isInLine else { return }
        switch member.condition.step(at: self.now) {
        case .open(let time), .askStatus(let time): self.setDue(id, at: time)
        case .end: self.due.remove(id)
        case .poll:
            guard let service = member.service else { return }
            if service.poller.nextPoll == nil, let reason = service.endReason {
                // A request by hand found out that no later poll can fare better.
                self.change(id) { $0.failed(reason, at: self.now) }
            } else if self.takePollingTurn(id), let time = service.poller.nextPoll {
                self.setDue(id, at: time)
            }
        }
    }

    private func setDue(_ id: ExactString, at time: Duration) {
        self.due.insert((), for: id, at: time)
        if time < self.sleepingUntil { self.inbox.ring() }
    }

    // MARK: Jobs

    private nonisolated func perform(_ job: FleetJob) async {
        let outcome: FleetOutcome
        do {
            switch job.work {
            case .open(let client, let opened):
                outcome = .opened(try await self.opened(opened, job.id, startingWith: client))
            case .poll(let service, _, let lag):
                try await service.poll(lag: lag)
                await self.share(service, of: job.id)
                outcome = .polled
            case .ask(let service, _):
                outcome = .told(try await service.evidence.status())
            case .compare(let service, _):
                outcome = .told(try await service.evidence.unsignedStatus())
            }
        } catch let error as MobileTokenError {
            outcome = .failed(error)
        } catch {
            outcome = .canceled
        }
        if case .opened(let opened) = outcome { await self.follow(opened, as: job.id) }
        await self.finished(job, outcome)
    }

    private nonisolated func opened(
        _ opened: OpenedService?,
        _ id: ExactString,
        startingWith client: Int
    ) async throws -> OpenedService {
        if let opened { opened } else { try await self.open(id, startingWith: client) }
    }

    /// Shows other processes what was polled here, though it may be no news to this one.
    private nonisolated func share(_ service: OperationsService, of id: ExactString) async {
        guard self.streams.sharing != nil else { return }
        // On the service: no change can slip in between.
        await service.withOperations { operations in
            let date = service.channel.serverDate
            self.streams.polled(FleetListing(activationID: id.string, operations: operations, serverDate: date))
        }
    }

    private func finished(_ job: FleetJob, _ outcome: FleetOutcome) {
        self.members[job.id]?.activity = nil
        switch job.work {
        case .open:
            self.openingCount -= 1
            if self.lines[0].first != nil { self.inbox.ring() }
        case .poll(_, let gate, _), .ask(_, let gate), .compare(_, let gate): gate.endPoll()
        }
        if self.concernsWhatIsPolled(job) { self.learn(outcome, of: job) }
        self.plan(job.id)
    }

    /// Whether a job was begun since its activation was taken last: what came of an earlier one says nothing of it.
    private func concernsWhatIsPolled(_ job: FleetJob) -> Bool {
        let service = self.members[job.id]?.service
        return switch job.work {
        case .open: true
        case .poll(let asked, _, _), .ask(let asked, _), .compare(let asked, _): asked === service
        }
    }

    private func learn(_ outcome: FleetOutcome, of job: FleetJob) {
        let now = self.now
        switch (outcome, job.work) {
        case (.opened, _):
            self.change(job.id) { $0.opened() }
            self.opened(job.id)
        case (.polled, _):
            self.noteSuccess(of: .activation(job.id))
            self.change(job.id) { $0.polled(at: now) }
        case (.told(let status), _):
            self.noteSuccess(of: .activation(job.id))
            self.change(job.id) { $0.learned(status.state, status.counter.result, at: now) }
        case (.failed(let error), .open):
            self.change(job.id) { $0.openingFailed(error, at: now) }
            self.failed(error, job.id, isNews: true)
            self.opened(job.id)
        case (.failed(let error), .poll):
            self.change(job.id) { $0.failed(error, at: now) }
            self.failed(error, job.id, isNews: false)
        case (.failed(let error), .ask), (.failed(let error), .compare):
            self.change(job.id) { $0.statusFailed(error, at: now) }
            self.failed(error, job.id, isNews: true)
        case (.canceled, _): break
        }
    }
}
