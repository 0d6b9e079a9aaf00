import ApprovalTesting
import Foundation
import MobileTokenApprovals
import MobileTokenTesting
import PostgresDatabase
import PostgresTestServer
import TestSupport
import Testing

@testable import MobileTokenPostgres

@Suite(.timeLimit(.minutes(5)), .ifPostgresIsInstalled)
struct PostgresLedgerTests {
    private static func ledger(
        _ nodes: PostgresStoreFixture,
        _ change: (inout PostgresConfiguration) -> Void = { _ in }
    ) -> ApprovalLedger {
        var configuration = PostgresConfiguration(
            connectionString: nodes.server.connectionString(),
            sealingKeys: SealingKeyRing(current: PostgresStoreFixture.key())
        )
        configuration.tls = .disabled
        configuration.schema = nodes.schema
        configuration.poolSize = 3
        configuration.lifetimes = PostgresStoreFixture.lifetimes
        change(&configuration)
        return .postgres(configuration)
    }

    @Test(arguments: LedgerConformance.allCases) func desksOfOneDatabaseConform(to requirement: LedgerConformance)
        async throws
    {
        try await withNodes { nodes in
            let opened = Shared<[ApprovalLedger]>([])
            try await requirement.check {
                let ledger = Self.ledger(nodes)
                opened.update { $0.append(ledger) }
                return ledger
            }
            for ledger in opened.value { await ledger.driver.close() }
        }
    }

    /// Otherwise another desk would call what is being done unknown.
    @Test func aClaimIsRenewedWhileNoConnectionIsFree() async throws {
        try await withNodes { nodes in
            let clock = ManualClock()
            let ledger = Self.ledger(nodes) {
                $0.poolSize = 1
                $0.clock = clock
                $0.lifetimes = NodeLifetimes(heartbeat: .seconds(60), death: .seconds(3_600))
            }
            let driver = try #require(ledger.driver as? PostgresLedger)
            _ = try await driver.open(audience: [1])
            try await driver.hold(7)
            let (isBusy, end) = (Shared(false), DispatchSemaphore(value: 0))
            let busy = Task {
                try await driver.database.withConnection { _ in
                    isBusy.value = true
                    end.wait()
                }
            }
            await until { isBusy.value }
            let database = try nodes.connect()
            func expiry() throws -> String {
                try #require(try database.run("SELECT expires_at::text FROM claim", [], .none).first).text(0)
            }
            let before = try expiry()
            await clock.waitForSleepers(1)
            clock.advance(by: .seconds(60))
            try await until { try expiry() != before }
            end.signal()
            try await busy.value
            await driver.close()
        }
    }

    /// Number 51, spot 5.
    @Test func aLedgerThatIsClosedHoldsNoClaimAndMakesNoConnection() async throws {
        try await withNodes { nodes in
            let (clock, dialed) = (ManualClock(), Shared(0))
            let ledger = Self.ledger(nodes) {
                $0.poolSize = 1
                $0.clock = clock
                $0.lifetimes = NodeLifetimes(heartbeat: .seconds(60), death: .seconds(3_600))
                $0.connectionString = { [connectionString = $0.connectionString] in
                    dialed.update { $0 += 1 }
                    return try await connectionString()
                }
            }
            let driver = try #require(ledger.driver as? PostgresLedger)
            _ = try await driver.open(audience: [1])
            let (isBusy, end) = (Shared(false), DispatchSemaphore(value: 0))
            let busy = Task {
                try await driver.database.withConnection { _ in
                    isBusy.value = true
                    end.wait()
                }
            }
            await until { isBusy.value }
            let beside = Task { try await driver.hold(7) }
            await until { driver.database.pool.waitingCount == 1 }
            await driver.close()
            end.signal()
            try await busy.value
            await #expect(throws: ApprovalError.self) { try await beside.value }
            #expect(clock.sleeperCount == 0)

            await driver.close()
            let before = dialed.value
            await #expect(throws: ApprovalError.self) { try await driver.hold(8) }
            await #expect(throws: ApprovalError.self) { try await driver.isHeld(8) }
            await #expect(throws: ApprovalError.self) { try await driver.unask([], LedgerKey(bytes: [])) }
            await driver.release(7)
            #expect(dialed.value == before && clock.sleeperCount == 0)
        }
    }

    @Test func eachAudienceHasALedgerOfItsOwn() async throws {
        try await withNodes { nodes in
            let ledger = Self.ledger(nodes)
            let bench = try await Bench(ledger: ledger)
            try await bench.perform()
            let other = try await Bench.desk(Self.ledger(nodes), bench.server, audience: "other")
            #expect(try await other.tickets().map(\.id) == [])
            bench.clock.advance(by: .seconds(10))
            try await bench.perform(at: other)
            #expect(bench.runs.count == 2)
        }
    }

    /// The server dies at the claim, before and after its commit. Nobody acts who does not know that the claim is written.
    @Test(arguments: [StoppingLedger.Place.before(.claimed), .after(.claimed)])
    func aServerThatDiesAtTheClaimRunsNothing(
        _ place: StoppingLedger.Place
    ) async throws {
        let server = try await PostgresTestServer.start(.init(isDurable: true))
        try await withNodes(server) { nodes in
            let ledger = Self.ledger(nodes)
            let driver = StoppingLedger(ledger.driver)
            let bench = try await Bench(ledger: ApprovalLedger(driver: driver, sealing: ledger.sealing))
            driver.set(place) {
                try await server.crash()
                throw StoppingLedger.Lost()
            }
            #expect(await bench.code() == .ledgerFailed)
            #expect(bench.runs.count == 0)
            driver.set(nil)
            try await server.start()
            let wasClaimed = place == .after(.claimed)
            // The lease was lost with the server, or ends by itself.
            try await until { try await bench.state() == (wasClaimed ? .unknown : .approved) }
            if wasClaimed {
                let error = await #expect(throws: ApprovalError.self) { try await bench.perform() }
                #expect(error?.performance == .unknown)
            } else {
                try await bench.perform()
            }
            #expect(bench.runs.count == (wasClaimed ? 0 : 1))
        }
    }

    /// The acknowledgement alone is lost: the claim is read back, and the action runs once.
    @Test func aServerThatComesBackAtTheClaimIsAsked() async throws {
        let server = try await PostgresTestServer.start(.init(isDurable: true))
        try await withNodes(server) { nodes in
            let ledger = Self.ledger(nodes)
            let driver = StoppingLedger(ledger.driver)
            let bench = try await Bench(ledger: ApprovalLedger(driver: driver, sealing: ledger.sealing))
            driver.set(.after(.claimed)) {
                try await server.crash()
                try await server.start()
                throw StoppingLedger.Lost()
            }
            try await bench.perform()
            #expect(bench.runs.count == 1)
            #expect(try await bench.state() == .done)
        }
    }

    /// A standby knows of an approval, and not that it was used: it is not used again.
    @Test(arguments: [false, true]) func afterAPromotionNothingOfBeforeIsDone(_ isAnotherDesk: Bool) async throws {
        let server = try await PostgresTestServer.start()
        try await withNodes(server) { nodes in
            let bench = try await Bench(ledger: Self.ledger(nodes))
            try await bench.decided()
            try await server.stop()
            try await server.backUp(to: "standby")
            try await server.start()
            try await bench.perform()
            #expect(bench.runs.count == 1)
            try await server.crash()
            try await server.restore("standby")
            try await server.promote()
            let desk = isAnotherDesk ? try await Bench.desk(Self.ledger(nodes), bench.server) : bench.desk
            let error = await #expect(throws: ApprovalError.self) { try await bench.perform(at: desk) }
            #expect(error?.code == .alreadyPerformed || error?.code == .ledgerFailed || error?.code == .ledgerWentBack)
            #expect(bench.runs.count == 1)
            // A process that has seen that it was done takes the row for one that was put back; others take it for unknown.
            let other = try await Bench.desk(Self.ledger(nodes), bench.server)
            #expect(try await other.tickets(in: [.unknown]).map(\.id) == ["deploy-1"])
            bench.clock.advance(by: .seconds(10))
            try await bench.perform(Bench.request("deploy-2"), at: desk)
            #expect(bench.runs.count == 2)
        }
    }

    /// A desk that is running finds out with its next write, although all its connections stand.
    @Test func aDeskAtWorkNoticesAnotherTimeline() async throws {
        try await withNodes { nodes in
            let bench = try await Bench(ledger: Self.ledger(nodes))
            try await bench.decided()
            try nodes.connect().run("UPDATE incarnation SET timeline = '0000ABCD'")
            let error = await #expect(throws: ApprovalError.self) { try await bench.perform() }
            #expect(error?.performance == .unknown)
            #expect(bench.runs.count == 0)
            #expect(try await bench.state() == .unknown)
        }
    }

    @Test func theRoleOfANodeIsEnough() async throws {
        let server = try await PostgresTestServer.start()
        try await withNodes(server) { nodes in
            let owner = try nodes.connect()
            try owner.run("CREATE ROLE desk LOGIN")
            try await nodes.node("owner").migrate(grantingTo: "desk")
            let ledger = Self.ledger(nodes) { configuration in
                configuration.connectionString = {
                    "host=\(server.folder) port=\(server.port) user=desk dbname=postgres"
                }
                configuration.migrates = false
            }
            let bench = try await Bench(ledger: ledger)
            try await bench.perform()
            #expect(try await bench.state() == .done)
            let error = await #expect(throws: MobileTokenError.self) {
                try await PostgresDriver(
                    PostgresConfiguration.test(nodes, user: "desk")
                ).withConnection { _ = try $0.run("DELETE FROM question") }
            }
            #expect(error?.code == .storePermissions)
        }
    }

    /// The steps by which the key of a store is replaced, while a desk is at work.
    @Test func aLedgerIsResealedWhileADeskActs() async throws {
        try await withNodes { nodes in
            let (old, new) = (PostgresStoreFixture.key(7), PostgresStoreFixture.key(8))
            @Sendable func ledger(_ ring: SealingKeyRing) -> ApprovalLedger {
                Self.ledger(nodes) { $0.sealingKeys = ring }
            }
            let bench = try await Bench(ledger: ledger(SealingKeyRing(current: old, earlier: [new])))
            bench.server.with { $0.script["bob"] = nil }
            try await bench.perform()
            let open = try await bench.desk.ask(Bench.request("open", from: .user("bob")))
            // With the new key first, and nothing resealed yet, what is written can be read with the earlier one.
            let ring = SealingKeyRing(current: new, earlier: [old])
            let other = try await Bench.desk(ledger(ring), bench.server)
            try await bench.perform(Bench.request("deploy-2", from: .user("carol")), at: other)
            #expect(try await Bench.desk(ledger(.init(current: old)), bench.server).tickets().count == 3)
            await #expect(throws: ApprovalError.self) {
                try await Bench.desk(ledger(.init(current: new)), bench.server)
            }

            let store = nodes.node { $0.sealingKeys = ring }
            for _ in 1...2 { try await store.reseal() }
            // Those that were open already write with the new key from now on, and nothing is lost of what they do.
            bench.clock.advance(by: .seconds(10))
            try await bench.perform(Bench.request("deploy-3"))
            bench.server.with { $0.script["bob"] = TestServer.Decision(registration: "device-2") }
            guard case .approved = try await bench.passing({ try await open.decision() }) else {
                Issue.record("bob has approved")
                return
            }
            let desk = try await Bench.desk(ledger(.init(current: new)), bench.server)
            let states = try await desk.tickets().reduce(into: [:]) { $0[$1.id] = $1.state }
            #expect(
                states == ["deploy-1": .done, "deploy-2": .done, "deploy-3": .done, "open": .approved]
            )
            #expect(desk.health.unreadable == 0)
            let archive = ReceiptArchive(folder: nodes.folder.file("questions"))
            #expect(try await desk.exportReceipts(to: archive).entryCount == 3)
            await #expect(throws: ApprovalError.self) {
                try await Bench.desk(ledger(.init(current: old)), bench.server)
            }
            // A store that has not both keys says so, and changes nothing.
            let stranger = nodes.node { $0.sealingKeys = SealingKeyRing(current: PostgresStoreFixture.key(9)) }
            await #expect(throws: MobileTokenError.self) { try await stranger.reseal() }
            #expect(try await desk.tickets().count == 4)
        }
    }

    @Test func aDatabaseThatIsAwayRefusesByName() async throws {
        let server = try await PostgresTestServer.start()
        try await withNodes(server) { nodes in
            let bench = try await Bench(ledger: Self.ledger(nodes))
            try await server.crash()
            #expect(await bench.code() == .ledgerFailed)
            #expect(bench.server.operations.isEmpty)
            await #expect(throws: ApprovalError.self) { try await Bench.desk(Self.ledger(nodes), bench.server) }
        }
    }

    /// Processes that act with one database, two at a time on each question, and are killed at any moment.
    @Test func processesThatAreKilledActOnce() async throws {
        let server = try await PostgresTestServer.shared()
        try await withNodes(server) { nodes in
            var configuration = Emulator.Configuration()
            configuration.templates = [
                """
                {"name": "deploy", "data": "A9*R${binding}",
                 "allowedSignatureType": {"type": "2FA", "variants": ["possession_knowledge"]},
                 "formData": {"title": "Deploy", "message": "${fingerprint}", "attributes": []}}
                """
            ]
            try await withEmulator(configuration) { emulator in
                _ = try await emulator.makeDevice(userID: "alice")
                let log = nodes.folder.file("actions")
                @Sendable func run(_ id: String, _ settings: String...) async throws -> String {
                    let process = try ChildProcess(
                        ChildProcess.besideTests("ApprovalExerciser"),
                        [
                            "database=\(server.connectionString())", "schema=\(nodes.schema)",
                            "url=\(emulator.cloudURL)", "user=\(emulator.cloudUser)",
                            "password=\(emulator.cloudPassword)", "id=\(id)", "log=\(log)",
                        ] + settings
                    )
                    var last = ""
                    while let line = await process.nextLine() { last = line }
                    _ = await process.outcome()
                    return last
                }
                for (index, place) in ["before=claimed", "after=claimed", "action=begin", "action=end", "action="]
                    .enumerated()
                {
                    let id = "question-\(index)"
                    async let other = run(id, place)
                    let outcomes = [try await run(id, place), try await other]
                    if place == "action=" { #expect(outcomes.contains("done"), "\(outcomes)") }
                }
                let lines = ((try? String(contentsOfFile: log, encoding: .utf8)) ?? "").split(separator: "\n")
                let acts = Dictionary(grouping: lines) { $0.split(separator: " ").first ?? "" }
                #expect(acts.values.allSatisfy { $0.count == 1 }, "\(acts)")
                #expect(acts["question-4"]?.count == 1)
                #expect(acts["question-0"] == nil && acts["question-1"] == nil && acts["question-2"] == nil)
                // Once the leases are over, nobody knows how far those came that were killed after their claim.
                let cloud = try CloudClient(
                    baseURL: emulator.cloudURL,
                    credentials: .init(user: emulator.cloudUser, password: emulator.cloudPassword)
                )
                let desk = try await ApprovalDesk(audience: "kill", cloud: cloud, ledger: Self.ledger(nodes))
                try await until {
                    let states = try await desk.tickets().reduce(into: [:]) { $0[$1.id] = $1.state }
                    return states["question-1"] == .unknown && states["question-2"] == .unknown
                        && states["question-3"] == .unknown && states["question-4"] == .done
                        && states["question-0"] == .approved
                }
            }
        }
    }
}

extension PostgresConfiguration {
    fileprivate static func test(_ nodes: PostgresStoreFixture, user: String) -> Self {
        let server = nodes.server
        var configuration = PostgresConfiguration(
            connectionString: "host=\(server.folder) port=\(server.port) user=\(user) dbname=postgres",
            sealingKeys: SealingKeyRing(current: PostgresStoreFixture.key())
        )
        configuration.tls = .disabled
        configuration.schema = nodes.schema
        return configuration
    }
}
