import Basics
import Coordination
import PowerAuth
import Synchronization

// MARK: Membership

extension OperationsFleet {
    /// Searches the stores for added and removed activations, as the fleet does at an interval.
    ///
    /// - Throws: `MobileTokenError` if a store cannot be read. Its known activations stay in the fleet.
    package func refreshActivations() async throws {
        if let error = await self.findActivations() { throw error }
    }

    /// - Returns: The last failure to read a store.
    func findActivations() async -> MobileTokenError? {
        guard self.only == nil else { return nil }
        var failure: MobileTokenError?
        for (index, client) in self.clients.enumerated() {
            do {
                let ids = try await client.activationIDs().map { ExactString($0) }
                if ids != self.storedIDs[index] { (self.storedIDs[index], self.hasNewIDs) = (ids, true) }
                self.noteSuccess(of: .store(index))
            } catch let error as MobileTokenError {
                self.noteFailure(error, of: .store(index))
                failure = error
            } catch {}  // canceled: nothing is known
        }
        if self.hasNewIDs { self.takeIn() }
        return failure
    }

    /// Makes the stored activations the fleet's members.
    private func takeIn() {
        self.hasNewIDs = false
        var found: Set<ExactString> = []
        for index in self.clients.indices {
            for id in self.storedIDs[index] ?? [] where found.insert(id).inserted && self.members[id] == nil {
                self.members[id] = FleetMember(client: index)
                if self.assignment.buckets.contains(self.bucket(of: id)) { self.take(id, isLate: self.wasAssigned) }
            }
        }
        for id in self.members.all.keys where !found.contains(id) {
            self.release(id)
            self.members[id] = nil
        }
    }

    private nonisolated func bucket(of id: ExactString) -> Int {
        OperationsFleet.Buckets.bucket(of: id.string, count: self.configuration.division.bucketCount)
    }

    /// Applies an assignment: takes gained activations and releases lost ones.
    ///
    /// Returns when the decisions of released activations have ended.
    func assign(_ assignment: OperationsFleet.Assignment) async {
        let lost = self.assignment.buckets.subtracting(assignment.buckets)
        let gained = assignment.buckets.subtracting(self.assignment.buckets)
        self.assignment = assignment
        for limiter in self.limiters { limiter.divide(among: assignment.processCount) }
        for id in Array(self.members.all.keys) {
            let bucket = self.bucket(of: id)
            if gained.contains(bucket) { self.take(id, isLate: self.wasAssigned) }
            if lost.contains(bucket) { self.release(id) }
        }
        self.wasAssigned = !assignment.buckets.isEmpty || self.wasAssigned && self.standing.isRunning
        for decisions in lost.compactMap({ self.standing.decisions[$0] }) {
            // Not canceled with the task: what was signed has to end before another process decides.
            await shielded { try? await decisions.wait() }
        }
    }

    private func take(_ id: ExactString, isLate: Bool) {
        guard let member = self.members[id] else { return }
        guard self.only == nil else { return self.plan(id) }
        guard !member.isOurs else { return }
        member.isOurs = true
        self.assignedCount += 1
        member.isLate = isLate
        self.streams.stateChanged(member.state, of: id.string)
        self.plan(id)
    }

    private func release(_ id: ExactString) {
        guard let member = self.members[id], member.isOurs else { return }
        self.stopPolling(id)
        guard self.only == nil else { return }
        // Others decide from now on: should it come back, its list is read anew before anything is decided by it.
        member.service = nil
        member.activation = nil
        member.isOurs = false
        self.assignedCount -= 1
        if member.wasTried { self.triedCount -= 1 }
        member.wasTried = false
        member.opening = ActivationCondition()
        member.state = OperationsFleet.ActivationState(.starting)
        self.due.remove(id)
        self.streams.reportLeaving(id.string)
    }

    private func stopPolling(_ id: ExactString) {
        guard let member = self.members[id] else { return }
        member.service?.poller.release(member.runner, by: ObjectIdentifier(self))
        member.runner = nil
    }
}

// MARK: Opening

extension OperationsFleet {
    /// Opens an activation with its application's client.
    ///
    /// - Parameter client: The client to try first.
    nonisolated func open(_ id: ExactString, startingWith client: Int) async throws -> OpenedService {
        var failure: MobileTokenError?
        let others = self.clients.indices.filter { $0 != client }
        for index in [client] + others where self.clients.indices.contains(index) {
            do {
                let activation = try await self.clients[index].activation(id: id.string)
                let service = self.makeService(of: activation, self.clients[index])
                return OpenedService(activation: activation, service: service, client: index)
            } catch let error as MobileTokenError
                where error.code == .unknownActivation || error.code == .invalidConfiguration
            {
                // It may belong to another client. A specific error counts more than an unknown activation.
                if failure == nil || failure?.code == .unknownActivation { failure = error }
            }
        }
        throw failure ?? MobileTokenError(.unknownActivation, "The fleet has no client")
    }

    private nonisolated func makeService(of activation: Activation, _ client: MobileTokenClient) -> OperationsService {
        var configuration = OperationsService.Configuration()
        configuration.acceptLanguage = client.configuration.acceptLanguage
        configuration.alarms = self.alarms
        configuration.random = self.configuration.random
        let service = OperationsService(activation: activation, configuration: configuration)
        service.limitRules.withLock { rules in rules = self.limitRules.withLock { $0 } }
        return service
    }

    /// Stores the service of an activation, unless there is one.
    ///
    /// - Returns: The stored service.
    func adopt(_ opened: OpenedService, as id: ExactString) -> OperationsService {
        let member = self.members[id]
        if let service = member?.service { return service }
        member?.service = opened.service
        member?.activation = opened.activation
        member?.client = opened.client
        return opened.service
    }

    /// Connects a service to the streams, and takes the turn to poll it.
    func follow(_ opened: OpenedService, as id: ExactString) async {
        let service = self.adopt(opened, as: id)
        // On the service, so that no change is missed.
        await service.follow(for: ObjectIdentifier(self), self.streams.listener(of: id.string)) { [streams] in
            streams.follow(id.string, list: $0, unreadable: $1)
        }
        guard let member = self.members[id], member.isOurs else { return self.streams.unfollow(id.string) }
        if let service = member.service { _ = self.takePollingTurn(id, member, service) }
    }

    /// Takes the turn to poll an activation. If a manual call has it, the fleet tries again when that ends.
    ///
    /// - Returns: `true` if the fleet has the turn.
    func takePollingTurn(_ id: ExactString, _ member: FleetMember, _ service: OperationsService) -> Bool {
        guard member.runner == nil else { return true }
        member.runner = service.poller.drive(self.plan(of: member), for: ObjectIdentifier(self)) { [inbox] in
            inbox.recordChange(of: id)
        }
        return member.runner != nil
    }

    private func plan(of member: FleetMember) -> PollingState.Plan {
        // The first activations are polled at once; later ones are spread over the interval.
        let isAtOnce = member.isLate || self.triedCount < Self.openingLimit
        var plan =
            self.only?.runPlan
            ?? PollingState.Plan(interval: self.configuration.pollInterval, start: isAtOnce ? .atOnce : .spread)
        plan.comparesCounters = true
        if self.only == nil { plan.blockedWait = ActivationCondition.blockedWait }
        return plan
    }

    /// Notes the end of an attempt to open an activation.
    func endOpening(_ id: ExactString) {
        guard let member = self.members[id], !member.wasTried else { return }
        member.wasTried = true
        self.triedCount += 1
        self.clients[member.client].configuration.observer?.fleetOpened(self.triedCount, of: self.assignedCount)
    }
}

// MARK: Conditions

extension OperationsFleet {
    /// Reports an activation's state to the streams and the observer if its phase changed.
    func reportState(of id: ExactString, _ member: FleetMember) {
        let (state, before) = (member.currentState, member.state.phase)
        member.state = state
        guard state.phase != before else { return }
        if state.phase.isEnded {
            self.stopPolling(id)
            self.due.remove(id)
            self.streams.unfollow(id.string)
            if let reason = state.reason { self.noteFailure(reason, of: .activation(id)) }
            self.ended.raise()
        }
        self.streams.stateChanged(state, of: id.string)
        self.observer(of: member)?.activationStateChanged(MobileTokenObservation.ActivationState(state, of: id.string))
    }

    private func observer(of member: FleetMember) -> (any MobileTokenObserver)? {
        if let service = member.service { return service.channel.observer }
        return self.clients[member.client].configuration.observer
    }

    /// Handles the failure of another request than the fleet's own, such as a decision; it counts for the activation like a
    /// poll's.
    package func handle(_ error: MobileTokenError, of activationID: String) async {
        let id = ExactString(activationID)
        self.noteFailure(error, of: .activation(id))
        guard let member = self.members[id], member.isOurs else { return }
        await member.service?.update { $0.recordFailure(error, at: $1) }
        self.plan(id)
    }

    func noteFailure(_ error: MobileTokenError, of subject: FleetFailure.Subject) {
        self.standing.lastFailure = FleetFailure(subject: subject, error: error, time: self.now)
    }

    /// - Parameter failure: `nil` after a success.
    func noteOutcome(_ failure: MobileTokenError?, of subject: FleetFailure.Subject) {
        if let failure { self.noteFailure(failure, of: subject) } else { self.noteSuccess(of: subject) }
    }

    func noteSuccess(of subject: FleetFailure.Subject) {
        if self.standing.lastFailure?.subject == subject { self.standing.lastFailure?.isOver = true }
    }
}
