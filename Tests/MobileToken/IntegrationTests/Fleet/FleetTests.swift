import StoreTesting
import Foundation
import MobileToken
import MobileTokenTesting
import PowerAuth
import Testing
import TestSupport

/// Many activations of one process, before a real server.
@Suite(.timeLimit(.minutes(5))) struct FleetTests {
    @Test func oneStreamCarriesTheChangesOfAllActivations() async throws {
        try await FleetStage.with { stage, client in
            let ids = try await stage.activate(3, client)
            let early = try await stage.emulator.cloud.createOperation("login", userID: "user 0")
            let fleet = OperationsFleet(client: client, configuration: FleetStage.configuration)
            let stream = fleet.changes()
            try await stage.running(fleet) {
                var changes = stream.makeAsyncIterator()
                await stage.advance(fleet) { fleet.health.counts == [.active: 3] }
                let first = try #require(await changes.next())
                #expect(first.activationID == ids[0])
                #expect(first.change.added.map(\.id) == [early.id])

                let late = try await stage.emulator.cloud.createOperation("login", userID: "user 2")
                try await stage.emulator.cloud.cancelOperation(early.id)
                await stage.advance(fleet, by: .seconds(8))
                let news = [try #require(await changes.next()), try #require(await changes.next())]
                let added = try #require(news.first { $0.activationID == ids[2] })
                let removed = try #require(news.first { $0.activationID == ids[0] })
                #expect(added.change.added.map(\.id) == [late.id])
                #expect(removed.change.removed.map(\.operation.id) == [early.id])

                // A late reader begins with everything.
                var all = fleet.changes().makeAsyncIterator()
                let whole = try #require(await all.next())
                #expect(whole.activationID == ids[2])
                #expect(whole.change.source == .subscription)
                #expect(try await fleet.service(of: ids[2]).list.operations.map(\.id) == [late.id])
            }
            // An activation that is not polled any more has left.
            var rest = stream.makeAsyncIterator()
            let last = try #require(await rest.next())
            #expect(last.change.removed.map(\.reason) == [.left])
            #expect(fleet.state(of: ids[0]) == nil)
            #expect(fleet.health.isRunning == false)
        }
    }

    @Test func activationsComeAndGoWhileItRuns() async throws {
        try await FleetStage.with { stage, client in
            let first = try await stage.activate(1, client)[0]
            let fleet = client.makeFleet(configuration: FleetStage.configuration)
            try await stage.running(fleet) {
                await stage.advance(fleet) { fleet.state(of: first)?.phase == .active }
                let activation = try await stage.emulator.makeActivation(
                    user: "bob",
                    password: password,
                    client: client
                )
                #expect(fleet.state(of: activation.activationID) == nil)
                await stage.advance(fleet) { fleet.state(of: activation.activationID)?.phase == .active }
                try await activation.removeLocally()
                try await fleet.refreshActivations()
                #expect(fleet.state(of: activation.activationID) == nil)
                #expect(fleet.activationIDs == [first])
                #expect(
                    try await errorCode { try await fleet.service(of: activation.activationID) }
                        == .unknownActivation
                )
            }
        }
    }

    @Test func whatIsPolledByHandIsTakenOverWhenThatEnds() async throws {
        try await FleetStage.with { stage, client in
            let id = try await stage.activate(1, client)[0]
            let fleet = client.makeFleet(configuration: FleetStage.configuration)
            try await fleet.refreshActivations()
            let service = try await fleet.service(of: id)
            await service.startPolling()
            await until { stage.count(of: "/operation/list") == 1 }
            try await stage.running(fleet) {
                await stage.advance(fleet) { stage.count(of: "/operation/list") >= 3 }
                await stage.advance(fleet, by: .seconds(1))
                // The state is the activation's, whoever polls it.
                #expect(fleet.state(of: id)?.phase == .active)
                await service.stopPolling()
                await stage.advance(fleet) { service.isPolling }
                let count = stage.count(of: "/operation/list")
                await stage.advance(fleet, by: .seconds(30))
                #expect((4...5).contains(stage.count(of: "/operation/list") - count))
                #expect(service.isPolling)
            }
            #expect(!service.isPolling)
        }
    }

    // MARK: The limits

    /// A limit that lets nothing through for as long as time does not move.
    private static var narrow: OperationsFleet.Configuration {
        altered(FleetStage.configuration) { $0.limits.requestsPerSecond = 0.001 }
    }

    @Test func limitsHoldWhileTheFleetRunsAndNoLonger() async throws {
        try await FleetStage.with { stage, client in
            let activation = try await client.activation(id: try await stage.activate(1, client)[0])
            let fleet = client.makeFleet(configuration: Self.narrow)
            for _ in 0..<3 { _ = try await activation.status() }
            try await stage.running(fleet) {
                await stage.advance(fleet, by: .seconds(10))
                let (asking, isAnswered) = (Shared(0), Shared(false))
                let status = Task {
                    asking.value = 1
                    _ = try await activation.status()
                    isAnswered.value = true
                }
                await until { asking.value == 1 }
                await stage.advance(fleet, by: .seconds(10))
                #expect(!isAnswered.value)
                status.cancel()
                _ = await status.result
            }
            for _ in 0..<3 { _ = try await activation.status() }
        }
    }

    /// Of two limits only one could hold.
    @Test func aSecondFleetOfAClientIsRefusedByName() async throws {
        try await FleetStage.with { stage, client in
            _ = try await stage.activate(1, client)
            let fleets = (0..<2).map { _ in client.makeFleet(configuration: FleetStage.configuration) }
            try await stage.running(fleets[0]) {
                await stage.advance(fleets[0]) { fleets[0].health.counts == [.active: 1] }
                let error = await #expect(throws: MobileTokenError.self) { try await fleets[1].run() }
                #expect(error?.code == .invalidConfiguration)
                #expect(error?.message.hasPrefix("Another fleet is running with this client") == true)
                #expect(fleets[0].health.isRunning)
            }
            try await stage.running(fleets[1]) {
                await stage.advance(fleets[1]) { fleets[1].health.counts == [.active: 1] }
            }
        }
    }

    @Test func aClientKeepsNothingOfAFleetThatIsGone() async throws {
        try await FleetStage.with { stage, client in
            weak var limiter: ServerLimiter?
            try await {
                let fleet = client.makeFleet(configuration: FleetStage.configuration)
                limiter = fleet.limiters.first
                #expect(limiter != nil)
                try await stage.running(fleet) { await until { fleet.health.isRunning } }
            }()
            await until { limiter == nil }
        }
    }

    /// Covers both orders, since luck decides who runs the fleet first.
    @Test(arguments: [false, true]) func anAgentAndItsUserMayBothRunTheFleet(isAgentFirst: Bool) async throws {
        try await FleetStage.with { stage, client in
            _ = try await stage.activate(1, client)
            let fleet = client.makeFleet(configuration: FleetStage.configuration)
            let agent = ApprovalAgent(fleet: fleet, factors: { _ in .twoFactors }) { _ in
                .deferToPeople
            }
            func run() -> Task<Void, any Error> { Task { try await fleet.run() } }
            func runAgent() -> Task<Void, any Error> { Task { try await agent.run() } }
            let first = isAgentFirst ? runAgent() : run()
            await stage.advance(fleet) { fleet.health.counts == [.active: 1] }
            let second = isAgentFirst ? run() : runAgent()
            if !isAgentFirst { await until { agent.health.isRunning } }
            try await first.stop()
            // The other one goes on.
            let count = stage.count(of: "/operation/list")
            await stage.advance(fleet) { stage.count(of: "/operation/list") > count }
            #expect(fleet.health.isRunning)
            try await second.stop()
            #expect(!fleet.health.isRunning)
        }
    }

    @Test func oneThatCannotBeOpenedIsNobodyElsesTrouble() async throws {
        try await FleetStage.with { stage in
            let damage = Shared<[String: MobileTokenError]>([:])
            let store = ActivationStore.inMemory { DamagedDriver(base: $0, damage: damage) }
            let client = try stage.makeClient(store: store)
            let ids = try await stage.activate(3, client)
            try await store.insert(ActivationStoreConformance.record("foreign"))
            damage.update { $0 = [ids[1]: MobileTokenError(.storeCorrupted, "torn")] }
            let fleet = client.makeFleet(configuration: FleetStage.configuration)
            try await stage.running(fleet) {
                await stage.advance(fleet) {
                    fleet.health.counts == [.active: 2, .unreadable: 1, .misconfigured: 1]
                }
                #expect(fleet.state(of: ids[1])?.phase == .unreadable)
                #expect(fleet.state(of: ids[1])?.reason?.code == .storeCorrupted)
                #expect(fleet.state(of: "foreign")?.phase == .misconfigured)
                #expect(fleet.health.lastFailure != nil)
            }
        }
    }

    @Test func aBusyStoreIsTriedAgain() async throws {
        try await FleetStage.with { stage in
            let damage = Shared<[String: MobileTokenError]>([:])
            let store = ActivationStore.inMemory { DamagedDriver(base: $0, damage: damage) }
            let client = try stage.makeClient(store: store)
            let id = try await stage.activate(1, client)[0]
            damage.update { $0 = [id: MobileTokenError(.storeBusy, "busy")] }
            let fleet = client.makeFleet(configuration: FleetStage.configuration)
            try await stage.running(fleet) {
                await until { fleet.state(of: id)?.reason?.code == .storeBusy }
                #expect(fleet.state(of: id)?.phase == .starting)
                damage.update { $0 = [:] }
                await stage.advance(fleet) { fleet.state(of: id)?.phase == .active }
            }
        }
    }

    @Test func aBankThatCommitsLateIsWaitedFor() async throws {
        try await FleetStage.with { stage, client in
            let registration = try await stage.emulator.cloud.register(userID: "alice")
            let id = try await client.activate(code: registration.activationQRCode, password: password).activationID
            let fleet = client.makeFleet(configuration: FleetStage.configuration)
            try await stage.running(fleet) {
                await stage.advance(fleet) { fleet.state(of: id)?.phase == .awaitingCommit }
                #expect(fleet.state(of: id)?.reason?.code == .activationPending)
                let polls = stage.count(of: "/operation/list")
                await stage.advance(fleet, by: .seconds(60))
                #expect(stage.count(of: "/operation/list") == polls)
                try await stage.emulator.cloud.commitRegistration(registration.id)
                await stage.advance(fleet) { fleet.health.oldestSuccessfulPoll != nil }
                #expect(fleet.state(of: id)?.phase == .active)
            }
        }
    }

    @Test func aBlockedActivationWaitsAndARemovedOneEnds() async throws {
        try await FleetStage.with { stage, client in
            let ids = try await stage.activate(2, client)
            _ = try await stage.emulator.cloud.createOperation("login", userID: "user 1")
            let fleet = client.makeFleet(configuration: FleetStage.configuration)
            try await stage.running(fleet) {
                var changes = fleet.changes().makeAsyncIterator()
                await stage.advance(fleet) { fleet.health.counts == [.active: 2] }
                #expect(await changes.next()?.change.added.count == 1)
                try await stage.emulator.blockActivation(ids[0])
                try await stage.emulator.removeActivation(ids[1])
                await stage.advance(fleet) { fleet.health.counts == [.blocked: 1, .removed: 1] }
                #expect(await changes.next()?.change.removed.map(\.reason) == [.left])
                let refused = try await errorCode { try await fleet.withDecision(on: ids[1]) { _ in } }
                #expect(refused == .activationRemoved)

                let count = stage.requests.value.count
                await stage.advance(fleet, by: .seconds(120))
                #expect(stage.requests.value.count == count, "an ended or blocked activation was asked about")
                try await stage.emulator.unblockActivation(ids[0])
                await stage.advance(fleet) { fleet.state(of: ids[0])?.phase == .active }
            }
        }
    }

    @Test func severalApplicationsAndServersAreOneFleet() async throws {
        try await FleetStage.with { stage in
            try await withEmulator { other in
                await other.clock.freeze(at: FleetStage.start)
                let (store, clock) = (ActivationStore.inMemory(), stage.clock)
                let zero = ManualClock().now
                let clients = [
                    try stage.makeClient(store: store),
                    try other.makeClient {
                        $0.store = store
                        $0.clock = clock
                        $0.wallClock = { FleetStage.start + zero.duration(to: clock.now) / .seconds(1) }
                    },
                ]
                let here = try await stage.activate(1, clients[0])[0]
                let there = try await other.makeActivation(user: "bob", password: password, client: clients[1])
                let fleet = OperationsFleet(clients: clients, configuration: FleetStage.configuration)
                try await stage.running(fleet) {
                    await stage.advance(fleet) { fleet.health.counts == [.active: 2] }
                    #expect(fleet.state(of: here)?.phase == .active)
                    #expect(fleet.state(of: there.activationID)?.phase == .active)
                    #expect(await other.requests(to: "/api/**").isEmpty == false)
                }
            }
        }
    }

    @Test func aFleetRunsOnceAtATimeAndAgain() async throws {
        try await FleetStage.with { stage, client in
            let id = try await stage.activate(1, client)[0]
            let fleet = client.makeFleet(configuration: FleetStage.configuration)
            for _ in 0..<2 {
                try await stage.running(fleet) {
                    await until { fleet.health.isRunning }
                    let second = try await errorCode { try await fleet.run() }
                    #expect(second == .invalidConfiguration)
                    await stage.advance(fleet) { fleet.state(of: id)?.phase == .active }
                }
                #expect(fleet.state(of: id) == nil)
                #expect(stage.clock.sleeperCount == 0)
            }
        }
    }

    @Test func aStoreThatCannotBeReadAtTheStartEndsIt() async throws {
        try await FleetStage.with { stage in
            let damage = Shared<[String: MobileTokenError]>([:])
            let store = ActivationStore.inMemory { DamagedDriver(base: $0, damage: damage) }
            damage.update { $0 = ["": MobileTokenError(.storeWrongSealingKey, "another key")] }
            let fleet = try stage.makeClient(store: store).makeFleet(configuration: FleetStage.configuration)
            let failure = try await errorCode { try await fleet.run() }
            #expect(failure == .storeWrongSealingKey)
        }
    }

    @Test func whatARequestByHandFindsOutIsNoZombie() async throws {
        try await FleetStage.with { stage, client in
            let id = try await stage.activate(1, client)[0]
            let fleet = client.makeFleet(configuration: FleetStage.configuration)
            try await stage.running(fleet) {
                await stage.advance(fleet) { fleet.state(of: id)?.phase == .active }
                let service = try await fleet.service(of: id)
                try await client.activation(id: id).removeLocally()
                #expect(try await errorCode { try await service.operations() } == .unknownActivation)
                await until { fleet.state(of: id)?.phase == .removed }
                #expect(!service.isPolling)
            }
        }
    }

    @Test func aHintHastensThePoll() async throws {
        try await FleetStage.with { stage, client in
            let id = try await stage.activate(1, client)[0]
            var configuration = FleetStage.configuration
            configuration.pollInterval = .seconds(600)
            let fleet = client.makeFleet(configuration: configuration)
            try await stage.running(fleet) {
                await stage.advance(fleet) { fleet.state(of: id)?.phase == .active }
                let polls = stage.count(of: "/operation/list")
                await stage.advance(fleet, by: .seconds(30))
                #expect(stage.count(of: "/operation/list") == polls)
                try await fleet.service(of: id).pollNow()
                await until { stage.count(of: "/operation/list") == polls + 1 }
            }
        }
    }

    @Test func healthShowsAClockThatIsOff() async throws {
        try await FleetStage.with { stage in
            await stage.emulator.clock.advance(by: .seconds(-90))
            let client = try stage.makeClient()
            _ = try await stage.activate(1, client)
            let fleet = client.makeFleet(configuration: FleetStage.configuration)
            try await stage.running(fleet) {
                await stage.advance(fleet) { fleet.health.counts == [.active: 1] }
                let health = fleet.health
                #expect(health.isClockSkewed)
                #expect(abs(health.clockSkew / .seconds(1) - 90) < 5)
            }
        }
    }
}

/// A driver in which the reading of some activations fails; the empty identifier stands for the list of them.
private struct DamagedDriver: ForwardingDriver {
    let base: any JournalDriver
    let damage: Shared<[String: MobileTokenError]>

    func activationIDs(_ filter: RowFilter) async throws -> [String] {
        if let error = self.damage.value[""] { throw error }
        return try await self.base.activationIDs(filter)
    }

    func load(_ activationID: String) async throws -> LoadedRow? {
        if let error = self.damage.value[activationID] { throw error }
        return try await self.base.load(activationID)
    }
}
