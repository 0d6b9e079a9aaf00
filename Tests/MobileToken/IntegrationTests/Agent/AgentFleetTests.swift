import MobileToken
import MobileTokenTesting
import PowerAuth
import StoreTesting
import Testing
import TestSupport

/// An agent for all activations of a store, at a real server.
@Suite(.timeLimit(.minutes(5))) struct AgentFleetTests {
    private let clock = ManualClock()
    private let traffic = Traffic()

    private func makeClient(_ emulator: Emulator, store: ActivationStore = ActivationStore.inMemory()) throws
        -> MobileTokenClient
    {
        try emulator.makeClient {
            $0.store = store
            $0.clock = self.clock
            $0.transport = try self.traffic.transport()
        }
    }

    /// Runs an agent that approves logins, and its time.
    private func run(
        _ fleet: OperationsFleet,
        factors: @escaping @Sendable (Activation) async throws -> Activation.Authentication.UnlockedFactor = {
            try await $0.unlockKnowledge(password: password)
        },
        _ body: (ApprovalAgent, inout AsyncStream<ApprovalAgent.Event>.Iterator) async throws -> Void
    ) async throws {
        let agent = ApprovalAgent(fleet: fleet, factors: factors, configuration: .patient) { review in
            review.operation.name == "login" ? .approve : .deferToPeople
        }
        try await self.traffic.run(agent, self.clock) { events in try await body(agent, &events) }
    }

    @Test func everyActivationIsDecidedFor() async throws {
        try await withEmulator { emulator in
            let client = try self.makeClient(emulator)
            var logins: [String] = []
            var payments: [String] = []
            for user in 0..<5 {
                _ = try await emulator.makeActivation(user: "user \(user)", password: password, client: client)
                for _ in 0..<3 {
                    logins.append(try await emulator.cloud.createOperation("login", userID: "user \(user)").id)
                }
                payments.append(try await emulator.cloud.createOperation("payment", userID: "user \(user)").id)
            }
            try await self.run(client.makeFleet()) { agent, _ async throws in
                for id in logins { #expect(await emulator.decision(on: id)?.status == .approved) }
                await until { agent.health.leftOperationCount == payments.count }
                #expect(agent.health.fleet.counts == [.active: 5])
                #expect(agent.health.fleet.decisionsUnknown == 0)
                #expect(agent.health.isWell)
            }
            for id in payments { #expect(try await emulator.cloud.operation(id).status == .pending) }
            #expect(await emulator.refusals() == [])
        }
    }

    /// A few wrong passwords would block the activation.
    @Test func oneWithAWrongPasswordIsNobodyElsesTrouble() async throws {
        try await withEmulator { emulator in
            let client = try self.makeClient(emulator)
            let wrong = try await emulator.makeActivation(user: "mallory", password: password, client: client)
            _ = try await emulator.makeActivation(user: "alice", password: password, client: client)
            for _ in 0..<6 { try await emulator.cloud.createOperation("login", userID: "mallory") }
            try await self.run(client.makeFleet()) { activation in
                let isWrong = activation.activationID == wrong.activationID
                return try await activation.unlockKnowledge(password: isWrong ? "wrong" : password)
            } _: { agent, events async throws in
                while let event = await events.next(isolation: #isolation) {
                    if case .stopped(let error) = event.kind {
                        #expect(error.code == .authenticationFailed)
                        #expect(event.activationID == wrong.activationID)
                        break
                    }
                }
                let login = try await emulator.cloud.createOperation("login", userID: "alice")
                #expect(await emulator.decision(on: login.id)?.status == .approved)
                #expect(agent.health.stoppedActivationCount == 1)
                #expect(!agent.health.isWell)
            }
            #expect(await emulator.summary(of: wrong)?.failedAttempts == 1)
        }
    }

    /// Row `unsupported version of the application: validate`: every right code would be counted, and the fifth would block.
    @Test func aVersionOfTheApplicationThatIsSwitchedOffCostsOneAttempt() async throws {
        try await withEmulator { emulator in
            let client = try self.makeClient(emulator)
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            for _ in 0..<6 { try await emulator.cloud.createOperation("login", userID: "alice") }
            try await self.run(client.makeFleet()) { activation in
                var rules = EmulatorProtocolRules()
                rules.unsupportedApplications = [emulator.applicationID]
                try await emulator.setProtocolRules(rules)
                return try await activation.unlockKnowledge(password: password)
            } _: { agent, events async throws in
                while let event = await events.next(isolation: #isolation) {
                    if case .stopped = event.kind { break }
                }
                #expect(agent.stoppedActivations[activation.activationID]?.code == .authenticationFailed)
            }
            #expect(await emulator.summary(of: activation)?.failedAttempts == 1)
        }
    }

    @Test func aStoppedActivationGoesOnWhenItIsToldTo() async throws {
        try await withEmulator { emulator in
            let client = try self.makeClient(emulator)
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let login = try await emulator.cloud.createOperation("login", userID: "alice")
            let known = Shared("wrong")
            try await self.run(client.makeFleet()) { activation in
                try await activation.unlockKnowledge(password: known.value)
            } _: { agent, events async throws in
                while let event = await events.next(isolation: #isolation) {
                    if case .stopped = event.kind { break }
                }
                #expect(agent.stoppedActivations[activation.activationID]?.code == .authenticationFailed)
                #expect(try await emulator.cloud.operation(login.id).status == .pending)
                await agent.resumeDeciding(with: "nobody")
                #expect(agent.stoppedActivations.count == 1)

                known.value = password
                await agent.resumeDeciding(with: activation.activationID)
                #expect(agent.stoppedActivations.isEmpty)
                #expect(await emulator.decision(on: login.id)?.status == .approved)
                #expect(agent.health.isWell)
            }
            #expect(await emulator.summary(of: activation)?.failedAttempts == 0)
        }
    }

    @Test func aBlockedActivationWaitsUntilItIsUnblocked() async throws {
        try await withEmulator { emulator in
            let client = try self.makeClient(emulator)
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            try await self.run(client.makeFleet()) { agent, events async throws in
                while let event = await events.next(isolation: #isolation) {
                    if case .stateChanged(let state) = event.kind, state.phase == .active { break }
                }
                try await emulator.blockActivation(activation.activationID)
                let login = try await emulator.cloud.createOperation("login", userID: "alice")
                await until { agent.health.fleet.counts == [.blocked: 1] }
                #expect(try await emulator.cloud.operation(login.id).status == .pending)
                try await emulator.unblockActivation(activation.activationID)
                #expect(await emulator.decision(on: login.id)?.status == .approved)
            }
        }
    }

    @Test func anActivationThatIsRemovedDoesNotEndTheAgent() async throws {
        try await withEmulator { emulator in
            let client = try self.makeClient(emulator)
            let removed = try await emulator.makeActivation(user: "mallory", password: password, client: client)
            _ = try await emulator.makeActivation(user: "alice", password: password, client: client)
            try await self.run(client.makeFleet()) { agent, _ async throws in
                await until { agent.health.fleet.counts == [.active: 2] }
                try await emulator.removeActivation(removed.activationID)
                await until { agent.health.fleet.counts == [.active: 1, .removed: 1] }
                let login = try await emulator.cloud.createOperation("login", userID: "alice")
                #expect(await emulator.decision(on: login.id)?.status == .approved)
            }
        }
    }

    /// DEFECTS3, 51: the agent reads what was decided last from each store, and a store may take its time.
    @Test func oneSlowStoreIsNobodyElsesTrouble() async throws {
        try await withEmulator { emulator in
            let slow = SlowReceipts()
            let clients = [
                try self.makeClient(emulator, store: .inMemory { _ in slow }), try self.makeClient(emulator),
            ]
            _ = try await emulator.makeActivation(user: "mallory", password: password, client: clients[0])
            _ = try await emulator.makeActivation(user: "alice", password: password, client: clients[1])
            let held = try await emulator.cloud.createOperation("login", userID: "mallory")
            slow.isStuck.value = true
            try await self.run(OperationsFleet(clients: clients)) { _, _ async throws in
                await until { slow.isReading.value }
                for _ in 0..<2 {
                    let login = try await emulator.cloud.createOperation("login", userID: "alice")
                    #expect(await emulator.decision(on: login.id)?.status == .approved)
                }
                #expect(try await emulator.cloud.operation(held.id).status == .pending)
                slow.isStuck.value = false
                #expect(await emulator.decision(on: held.id)?.status == .approved)
            }
        }
    }

    /// Another process may have decided since.
    @Test func aReadingFromBeforeAnActivationLeftIsNotBelieved() async throws {
        try await withEmulator { emulator in
            let (held, membership) = (HeldReadings(), SteeredMembership())
            let clients = [
                try self.makeClient(emulator, store: .inMemory { _ in held }), try self.makeClient(emulator),
            ]
            _ = try await emulator.makeActivation(user: "mallory", password: password, client: clients[0])
            _ = try await emulator.makeActivation(user: "alice", password: password, client: clients[1])
            let login = try await emulator.cloud.createOperation("login", userID: "mallory")
            var configuration = OperationsFleet.Configuration()
            configuration.division = membership
            try await self.run(OperationsFleet(clients: clients, configuration: configuration)) {
                agent,
                _ async throws in
                await membership.waitForStart()
                await membership.assign([0, 1])
                await held.doors[0].waitForVisitors()
                await membership.assign([])
                await until { agent.health.fleet.counts.isEmpty }
                await membership.assign([0, 1])
                await until { agent.health.fleet.counts == [.active: 2] }
                held.doors[0].open()
                await held.doors[1].waitForVisitors()
                let other = try await emulator.cloud.createOperation("login", userID: "alice")
                #expect(await emulator.decision(on: other.id)?.status == .approved)
                #expect(try await emulator.cloud.operation(login.id).status == .pending)
                held.doors[1].open()
                #expect(await emulator.decision(on: login.id)?.status == .approved)
            }
        }
    }
}

/// A store whose first two readings of open decisions end when a test says so.
private final class HeldReadings: ForwardingDriver {
    let base: any JournalDriver = MemoryDriver()
    let doors = [Door(), Door()]
    private let count = Shared(0)

    func receipts(_ query: ReceiptQuery) async throws -> ReceiptPage {
        let page = try await self.base.receipts(query)
        let number = self.count.update { count in
            defer { count += 1 }
            return count
        }
        if number < self.doors.count { await self.doors[number].pass() }
        return page
    }
}

/// A store whose receipts are not read for as long as a test says.
private final class SlowReceipts: ForwardingDriver {
    let base: any JournalDriver = MemoryDriver()
    let isStuck = Shared(false)
    let isReading = Shared(false)

    func receipts(_ query: ReceiptQuery) async throws -> ReceiptPage {
        if self.isStuck.value { self.isReading.value = true }
        await until { !self.isStuck.value }
        return try await self.base.receipts(query)
    }
}
