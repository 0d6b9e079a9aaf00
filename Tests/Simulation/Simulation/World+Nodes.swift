import Coordination
import EmulatorBackend
import Foundation
import MobileToken
import MobileTokenPostgres
import PowerAuth

// Processes: nodes, and people at a device.
extension World {
    // MARK: Nodes

    func start(_ node: Node) {
        node.lives += 1
        let process = self.simulator.makeProcess("\(node.name)\(node.lives > 1 ? ", life \(node.lives)" : "")")
        node.process = process
        self.simulator.setSkew(node.skew, of: process)
        self.simulator.spawn(in: process) { await self.live(node, process) }
    }

    func live(_ node: Node, _ process: Simulator.Process) async {
        let driver = SimulatedDriver(node, in: self)
        do {
            let (client, store) = try self.client(driver, isAutomatic: true)
            var configuration = OperationsFleet.Configuration()
            configuration.pollInterval = .seconds(5)
            configuration.limits.requestsPerSecond = Double(self.requestsPerSecond)
            configuration.membership = PostgresFleetMembership(
                store,
                node: driver.rights,
                buckets: driver.database,
                clock: ServiceClock(self.clock)
            )
            let fleet = client.makeFleet(configuration: configuration)
            var agentConfiguration = ApprovalAgent.Configuration()
            agentConfiguration.limits = self.limits
            agentConfiguration.reviewsIncomplete = self.plan.sumAllowed != nil
            let agent = ApprovalAgent(
                fleet: fleet,
                factors: { activation in
                    guard activation.activationID == self.judge.wrongFactor else {
                        return try await self.factor(of: activation)
                    }
                    return try await activation.unlockKnowledge(password: "correct house")
                },
                configuration: agentConfiguration,
                policy: { review in
                    let verdict = self.defect == .approvesAll ? .approve : self.verdict(review)
                    self.judge.reviewed(review, verdict, by: process.index, at: self.simulator.now)
                    if let seconds = self.plan.policySeconds {
                        try await self.clock.sleep(for: self.draw.duration(.zero ... .seconds(seconds)))
                    }
                    return verdict
                }
            )
            let events = agent.events()
            let reading = Task { for await event in events { self.heard(event, by: process) } }
            let (listEvents, readsSlowly) = (fleet.events(), self.draw.happens(0.3))
            let watching = Task {
                for await event in listEvents {
                    if !node.show(event) { self.judge.fail("a list is not what its changes make of it") }
                    if readsSlowly { try? await self.clock.sleep(for: self.draw.duration(.zero ... .seconds(6))) }
                }
            }
            (node.shown, node.lists) = ([:], [:])
            node.polled = { fleet.activationIDs }
            node.decisionsInFlight = { fleet.health.decisionsInFlight }
            let running = Task { try await agent.run() }
            node.stop = { running.cancel() }
            let result = await running.result
            await reading.value
            watching.cancel()
            await watching.value
            await client.shutdown()
            await store.close()
            self.remains.append(Remains(fleet: fleet, agent: agent))
            if case .failure(let error) = result { self.simulator.note("the agent ended: \(error)") }
        } catch {
            self.simulator.note("the process ended: \(error)")
        }
        self.ended(node, process)
    }

    /// Handles a process's return from `main`: nothing of it is left.
    func ended(_ node: Node, _ process: Simulator.Process) {
        self.simulator.note("ends")
        if !self.isEnding { self.judge.trace.died(process.index) }
        guard node.process == process else { return }
        node.forget()  // it keeps tasks that have ended
        self.simulator.post(to: self.simulator.world) {
            let living = self.simulator.livingTasks(of: process)
            if self.isEnding, !living.isEmpty { self.judge.fail("a process left tasks behind: \(living)") }
            self.simulator.kill(process)
            guard node.process == process else { return }
            node.process = nil
            // As a service manager does.
            self.restart(node, 3)
        }
    }

    func restart(_ node: Node, _ seconds: Int) {
        self.after(seconds) { if node.process == nil, !self.isEnding { self.start(node) } }
    }

    private var limits: [ApprovalAgent.Limit] {
        let window = ApprovalAgent.Limit.Window.rolling(.minutes(1))
        if let sum = self.plan.sumAllowed {
            return [.init("a minute", of: .activation, within: window, sum: ["CZK": Decimal(sum)])]
        }
        return self.plan.approvalsAllowed.map { [.init("a minute", of: .activation, within: window, count: $0)] } ?? []
    }

    func verdict(_ review: OperationReview) -> ApprovalAgent.Verdict {
        switch review.operation.name {
        case "deploy" where review.activationID == self.plan.objector.map { self.setting.devices[$0].activationID }:
            return .reject(.unexpectedOperation)
        case "trap" where self.plan.sumAllowed != nil: return .deferToPeople
        case "login", "deploy", "trap": return .approve
        // Two signed amounts, both of which are shown.
        case "pair": return review.doubts.allSatisfy { $0.kind == .repeatedDataField } ? .approve : .deferToPeople
        case "login_1FA": return .reject(.unexpectedOperation)
        default:
            guard let total = review.total(in: "CZK"), total > 0, total <= 50 else { return .deferToPeople }
            return .approve
        }
    }

    func factor(of activation: Activation) async throws -> Activation.Authentication.UnlockedFactor {
        let id = activation.activationID
        guard let device = self.setting.devices.first(where: { $0.activationID == id }) else {
            throw MobileTokenError(.unknownActivation, "not of this world")
        }
        // Derived here only if it may have changed.
        guard self.upgraded.contains(id) else { return device.factor }
        return try await activation.unlockKnowledge(password: Setting.password)
    }

    func client(
        _ driver: SimulatedDriver,
        isAutomatic: Bool
    ) throws -> (MobileTokenClient, ActivationStore) {
        let store = ActivationStore(
            driver,
            name: "world",
            keys: SealingKeys(current: .closure { [setting] in setting.sealingKey }),
            clock: self.clock
        )
        var configuration = MobileTokenClient.Configuration()
        configuration.store = store
        configuration.transport = SimulatedTransport(world: self, isAutomatic: isAutomatic)
        configuration.observer = PollObserver(world: self)
        configuration.timeout = Self.timeout
        configuration.proxyTimeout = self.proxyTimeout
        configuration.clock = self.clock
        // Nothing is shared with other processes, which may die during their turn.
        configuration.derivations = DerivationQueue(limit: 2)
        let client = try MobileTokenClient(
            baseURL: Setting.baseURL,
            sdkConfiguration: self.setting.sdkConfiguration,
            configuration: configuration
        )
        return (client, store)
    }

    func heard(_ event: ApprovalAgent.Event, by process: Simulator.Process) {
        let subject = event.operation.map { self.judge.name(of: $0.id) } ?? self.deviceNames[event.activationID] ?? ""
        self.simulator.note("\(subject): \(event.kind)")
        let book = event.operation.flatMap { self.book(of: $0.id) }
        self.judge.limit.close(at: self.database.epoch.begun)
        self.judge.heard(event, by: process.index, at: self.simulator.now, book)
    }

    func kill(_ node: Node, _ moment: Plan.Act.Moment, _ seconds: Int) {
        node.fates.append(
            (
                moment,
                {
                    guard let process = node.process else { return }
                    self.simulator.act(as: process) { self.simulator.note("is killed") }
                    self.judge.count("processes killed")
                    self.simulator.kill(process)
                    self.judge.trace.died(process.index)
                    node.process = nil
                    node.forget()
                    self.restart(node, seconds)
                }
            )
        )
    }

    func freeze(_ node: Node, _ seconds: Int) {
        guard let process = node.process else { return }
        self.simulator.act(as: process) { self.simulator.note("is frozen") }
        self.judge.count("processes frozen")
        self.simulator.freeze(process, true)
        self.after(seconds) {
            self.simulator.act(as: process) { self.simulator.note("is thawed") }
            self.judge.trace.slept(process.index, seconds)
            self.simulator.freeze(process, false)
        }
    }

    func starve(_ node: Node, _ seconds: Int) {
        guard let process = node.process else { return }
        self.simulator.setWeight(0, of: process)
        self.after(seconds) { self.simulator.setWeight(1, of: process) }
    }

    func setClock(_ node: Node, _ seconds: Int) {
        node.skew = .seconds(seconds)
        if let process = node.process { self.simulator.setSkew(node.skew, of: process) }
    }

    func stop(_ node: Node, _ seconds: Int) {
        guard let process = node.process, let stop = node.stop else { return }
        self.simulator.post(to: process) {
            self.simulator.note("is asked to end")
            stop()
        }
        // The grace period of a service manager.
        self.after(60 + seconds) {
            guard node.process == process else { return }
            self.simulator.kill(process)
            self.judge.trace.died(process.index)
            node.process = nil
            node.forget()
            self.restart(node, 1)
        }
    }

    func pause(_ seconds: Int) {
        self.database.pause = DecisionPause(date: self.date, reason: "simulated")
        self.after(seconds) { self.database.pause = nil }
    }

    // MARK: People

    func decideByHand(_ index: Int) {
        self.asPerson(index) { client, activation in
            let service = client.makeOperationsService(for: activation)
            guard let operation = try await service.operations().first else { return }
            let name = self.judge.name(of: operation.id)
            self.judge.takenInHand(operation.id)
            if self.draw.happens(0.3) { self.dyingPeople.append(self.simulator.currentProcess) }
            guard self.draw.happens(0.7) else {
                self.simulator.note("rejects \(name)")
                try await service.reject(operation, reason: .unexpectedOperation)
                return self.simulator.note("has rejected \(name)")
            }
            self.simulator.note("approves \(name)")
            var factors = Activation.Authentication.possession
            if !operation.allows(.possession) {
                factors = .possessionAndKnowledge(unlocked: try await self.factor(of: activation))
            }
            try await service.authorize(operation, with: factors)
            self.simulator.note("has approved \(name)")
        }
    }

    func mistype(_ index: Int) {
        self.asPerson(index) { client, activation in
            let service = client.makeOperationsService(for: activation)
            guard let operation = try await service.operations().first(where: { !$0.allows(.possession) }) else {
                return
            }
            self.judge.mistyped(by: self.simulator.currentProcess.index)
            self.simulator.note("mistypes the password for \(self.judge.name(of: operation.id))")
            try await service.authorize(operation, with: .possessionAndKnowledge(password: "correct house"))
            self.judge.fail("a wrong password has decided \(self.judge.name(of: operation.id))")
        }
    }

    func upgrade(_ index: Int) {
        self.backend.protocolRules.upgradeOffers = [Setting.applicationID]
        self.upgraded.insert(self.setting.devices[index].activationID)
        self.asPerson(index, attempts: 10) { _, activation in
            let password = SecretBytes(copying: Array(Setting.password.utf8))
            // The suite that every supported OpenSSL has.
            try await activation.upgrade(password: password, suite: .p384)
            self.judge.count("upgrades")
            self.simulator.note("has upgraded device \(index)")
        }
    }

    func makeToken(_ index: Int, _ isStrong: Bool) {
        self.asPerson(index) { _, activation in
            let factors: Activation.Authentication =
                isStrong ? .possessionAndKnowledge(unlocked: try await self.factor(of: activation)) : .possession
            try await activation.requestToken("statements", with: factors)
            self.judge.count("tokens asked for")
            self.simulator.note("has a token of \(isStrong ? "two factors" : "one factor")")
        }
    }

    /// Acts with a device in a separate process.
    func asPerson(
        _ index: Int,
        attempts: Int = 1,
        isLooking: Judge.Trace.Looking? = nil,
        _ body: @escaping @Sendable (MobileTokenClient, Activation) async throws -> Void
    ) {
        self.people += 1
        self.busyPeople += 1
        let process = self.simulator.makeProcess("person \(self.people)")
        let node = Node("person \(self.people)", -1, self.nodes[0].marks)
        let device = self.setting.devices[index]
        self.judge.trace.looking[process.index] = isLooking
        self.simulator.spawn(in: process) {
            do {
                let (client, store) = try self.client(SimulatedDriver(node, in: self), isAutomatic: false)
                for attempt in 1...attempts {
                    do {
                        try await body(client, try await client.activation(id: device.activationID))
                        break
                    } catch {
                        self.simulator.note("attempt \(attempt) failed: \(error)")
                        if attempt == attempts { break }
                        try? await self.clock.sleep(for: .seconds(5))
                    }
                }
                await client.shutdown()
                await store.close()
            } catch {
                self.simulator.note("cannot begin: \(error)")
            }
            self.busyPeople -= 1
        }
    }

    func killPerson(_ process: Simulator.Process) {
        guard self.simulator.isAlive(process) else { return }
        self.simulator.act(as: process) { self.simulator.note("is killed") }
        self.judge.count("people's processes killed")
        self.simulator.kill(process)
        self.busyPeople -= 1
    }
}

extension World.Node {
    func forget() { (self.stop, self.polled, self.decisionsInFlight) = (nil, nil, nil) }

    /// - Returns: `false` if a list is not what its changes make of it.
    func show(_ event: OperationsFleet.Event) -> Bool {
        switch event {
        case .changed(let news):
            self.shown[news.activationID] = Set(news.change.operations.map(\.id))
            return self.lists[news.activationID, default: ShownList()].apply(news.change)
        // Operations that another process polls now were taken away before this.
        case .left, .stateChanged, .unreadable, .failed: return true
        }
    }
}
