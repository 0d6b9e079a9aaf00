import Basics
import Coordination
import PowerAuth

// MARK: Coming and going

extension OperationsFleet {
    /// Searches the stores for activations that came or went since, which the fleet otherwise does at an interval.
    ///
    /// - Throws: `MobileTokenError` when a store cannot be read. What it held before stays in the fleet.
    public func refreshActivations() async throws {
        if let error = await self.findActivations() { throw error }
    }

    /// - Returns: The last failure to read a store.
    func findActivations() async -> MobileTokenError? {
        guard self.only == nil else { return nil }
        var failure: MobileTokenError?
        for (index, client) in self.clients.enumerated() {
            do {
                let ids = try await client.activationIDs().map { ExactString($0) }
                if ids != self.storedIDs[index] { self.storedIDs[index] = ids }
                self.noteSuccess(of: .store(index))
            } catch let error as MobileTokenError {
                self.noteFailure(error, of: .store(index))
                failure = error
            } catch {}  // canceled: nothing is known
        }
        self.takeIn()
        return failure
    }

    /// Makes members of what the stores hold, and of nothing else.
    private func takeIn() {
        var found: Set<ExactString> = []
        for index in self.clients.indices {
            for id in self.storedIDs[index] ?? [] where found.insert(id).inserted && self.members[id] == nil {
                self.members[id] = FleetMember(client: index)
                if self.assignment.buckets.contains(self.bucket(of: id)) { self.take(id, isLate: self.wasAssigned) }
            }
        }
        for id in self.members.keys where !found.contains(id) {
            self.release(id)
            self.members[id] = nil
            self.streams.recordRemoval(id.string)
        }
    }

    private nonisolated func bucket(of id: ExactString) -> Int {
        OperationsFleet.Buckets.bucket(of: id.string, count: self.configuration.membership.bucketCount)
    }

    /// Takes what is assigned, and lets go of what is not any more.
    ///
    /// Returns when the decisions on what was let go of have ended.
    func assign(_ assignment: OperationsFleet.Assignment) async {
        let lost = self.assignment.buckets.subtracting(assignment.buckets)
        let gained = assignment.buckets.subtracting(self.assignment.buckets)
        self.assignment = assignment
        for limiter in self.limiters { limiter.divide(among: assignment.processCount) }
        for id in Array(self.members.keys) {
            let bucket = self.bucket(of: id)
            if gained.contains(bucket) { self.take(id, isLate: self.wasAssigned) }
            if lost.contains(bucket) { self.release(id) }
        }
        self.wasAssigned = !assignment.buckets.isEmpty || self.wasAssigned && self.isRunning
        for decisions in lost.compactMap({ self.decisions[$0] }) {
            // Not canceled with the task: what was signed has to end before another process decides.
            await shielded { try? await decisions.wait() }
        }
    }

    private func take(_ id: ExactString, isLate: Bool) {
        guard let member = self.members[id] else { return }
        guard self.only == nil else { return self.plan(id) }
        guard !member.isOurs else { return }
        self.members[id]?.isOurs = true
        self.assignedCount += 1
        self.members[id]?.isLate = isLate
        self.streams.stateChanged(member.state, of: id.string)
        self.plan(id)
    }

    private func release(_ id: ExactString) {
        guard let member = self.members[id], member.isOurs else { return }
        self.stopPolling(id)
        guard self.only == nil else { return }
        // Others decide from now on: should it come back, its list is read anew before anything is decided by it.
        self.members[id]?.service = nil
        self.members[id]?.activation = nil
        self.members[id]?.isOurs = false
        self.assignedCount -= 1
        if member.wasTried { self.triedCount -= 1 }
        self.members[id]?.wasTried = false
        self.members[id]?.opening = ActivationCondition()
        self.members[id]?.state = OperationsFleet.ActivationState(.starting)
        self.due.remove(id)
        self.streams.reportLeaving(id.string)
    }

    /// Another process shows a list that it polls.
    func applyListing(_ listing: FleetListing) async {
        // It may have found an activation before this process did.
        self.noteSuccess(of: .membership)
        if self.members[ExactString(listing.activationID)] == nil { _ = await self.findActivations() }
        guard self.members[ExactString(listing.activationID)] != nil else { return }
        self.streams.show(listing)
    }

    private func stopPolling(_ id: ExactString) {
        guard let member = self.members[id] else { return }
        member.service?.poller.release(member.runner, by: ObjectIdentifier(self))
        self.members[id]?.runner = nil
    }
}

// MARK: Opening

extension OperationsFleet {
    /// Opens an activation with the client that it belongs to.
    ///
    /// - Parameter client: The one to try first.
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
                // It may be another client's. What one of them says about it counts more than that others know nothing.
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
        return OperationsService(activation: activation, configuration: configuration)
    }

    /// Keeps the service of an activation, unless there is one already.
    ///
    /// - Returns: The one that is kept.
    func adopt(_ opened: OpenedService, as id: ExactString) -> OperationsService {
        if let service = self.members[id]?.service { return service }
        self.members[id]?.service = opened.service
        self.members[id]?.activation = opened.activation
        self.members[id]?.client = opened.client
        return opened.service
    }

    /// Lets the streams follow a service, and takes the turn to poll it.
    func follow(_ opened: OpenedService, as id: ExactString) async {
        let service = self.adopt(opened, as: id)
        // On the service: no change can slip in between.
        await service.follow(for: ObjectIdentifier(self), self.streams.listener(of: service.channel)) { [streams] in
            streams.follow(id.string, list: $0)
        }
        guard let member = self.members[id], member.isOurs else { return self.streams.unfollow(id.string) }
        _ = self.takePollingTurn(id)
    }

    /// Takes the right to poll an activation, unless a call by hand polls it: then it is asked for again when that ends.
    ///
    /// - Returns: `true` when the fleet has the right.
    func takePollingTurn(_ id: ExactString) -> Bool {
        guard let member = self.members[id], let service = member.service else { return false }
        guard member.runner == nil else { return true }
        self.members[id]?.runner = service.poller.drive(self.plan(of: member), for: ObjectIdentifier(self)) { [inbox] in
            inbox.recordChange(of: id)
        }
        return self.members[id]?.runner != nil
    }

    private func plan(of member: FleetMember) -> Following.Plan {
        var plan =
            self.only?.runPlan
            ?? Following.Plan(interval: self.configuration.pollInterval, start: member.isLate ? .atOnce : .spread)
        plan.comparesCounters = true
        if self.only == nil { plan.blockedWait = ActivationCondition.blockedWait }
        return plan
    }

    /// An activation was opened, or found not to open.
    func endOpening(_ id: ExactString) {
        guard let member = self.members[id], !member.wasTried else { return }
        self.members[id]?.wasTried = true
        self.triedCount += 1
        self.clients[member.client].configuration.observer?.fleetOpened(self.triedCount, of: self.assignedCount)
    }
}

// MARK: Conditions

extension OperationsFleet {
    /// Tells the streams and the observer of an activation's state when its phase is another one.
    func reportState(of id: ExactString) {
        guard let member = self.members[id], member.isOurs else { return }
        let state = member.currentState
        self.members[id]?.state = state
        guard state.phase != member.state.phase else { return }
        if state.phase.isEnded {
            self.stopPolling(id)
            self.due.remove(id)
            self.streams.unfollow(id.string)
            if let reason = state.reason { self.noteFailure(reason, of: .activation(id)) }
            self.ended.raise()
        }
        self.streams.stateChanged(state, of: id.string)
        self.observer(of: member)?.activationStateChanged(Observed.ActivationState(state, of: id.string))
    }

    private func observer(of member: FleetMember) -> (any MobileTokenObserver)? {
        if let service = member.service { return service.channel.observer }
        return self.clients[member.client].configuration.observer
    }

    /// Handles the failure of a request that was not the fleet's own, such as a decision, which tells of the activation what a
    /// poll would tell.
    package func handle(_ error: MobileTokenError, of activationID: String) async {
        let id = ExactString(activationID)
        self.noteFailure(error, of: .activation(id))
        guard let member = self.members[id], member.isOurs else { return }
        await member.service?.update { $0.recordFailure(error, at: $1) }
        self.plan(id)
    }

    func noteFailure(_ error: MobileTokenError, of subject: FleetFailure.Subject) {
        self.lastFailure = FleetFailure(subject: subject, error: error, time: self.now)
    }

    func noteSuccess(of subject: FleetFailure.Subject) {
        if self.lastFailure?.subject == subject { self.lastFailure?.isOver = true }
    }
}
