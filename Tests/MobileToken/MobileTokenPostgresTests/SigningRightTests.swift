import Foundation
import StoreTesting
import MobileTokenTesting
import PostgresDatabase
import PostgresTestServer
import PowerAuth
import TestSupport
import Testing

@testable import MobileTokenPostgres

@Suite(.timeLimit(.minutes(5)), .ifPostgresIsInstalled)
struct SigningRightTests {
    /// A lifetime that no test waits for: what is had is handed over.
    @Test(arguments: [false, true]) func anIdleHolderHandsTheRightOver(pollOnly: Bool) async throws {
        try await withNodes { nodes in
            let change = { (configuration: inout PostgresConfiguration) in
                configuration.lifetimes = NodeLifetimes(heartbeat: .seconds(60), death: .seconds(3_600))
                configuration.pollOnly = pollOnly
            }
            let (one, other) = (nodes.node("one", change), nodes.node("other", change))
            try await one.insert(ActivationStoreConformance.record("a"))
            for store in [one, other, one, other] {
                try await store.withSigningTurn(of: "a") { turn in _ = try await turn.update { $0.takeMove() } }
            }
            #expect(try await one.record(of: "a")?.counterMoves == 510)
        }
    }

    /// As long as PostgreSQL lets it be, and longer than the name of a channel with more in it.
    @Test func theNameOfTheSchemaMayBeLong() async throws {
        try await withNodes { nodes in
            let change = { (configuration: inout PostgresConfiguration) in
                configuration.schema = "schema of \(nodes.schema)".padding(toLength: 63, withPad: "s", startingAt: 0)
                configuration.lifetimes = NodeLifetimes(heartbeat: .seconds(60), death: .seconds(3_600))
            }
            let (one, other) = (nodes.node("one", change), nodes.node("other", change))
            try await one.insert(ActivationStoreConformance.record("a"))
            for store in [one, other] { try await store.withSigningTurn(of: "a") { _ in } }
        }
    }

    @Test func theRightStaysWithTheNodeThatSigns() async throws {
        try await withNodes { nodes in
            let one = nodes.node("one")
            try await one.insert(ActivationStoreConformance.record("a"))
            try await one.withSigningTurn(of: "a") { turn in _ = try await turn.update { $0.takeMove() } }
            let driver = try one.postgres
            let before = await driver.counts.roundTrips
            for _ in 0..<10 {
                try await one.withSigningTurn(of: "a") { turn in _ = try await turn.update { $0.takeMove() } }
            }
            #expect(await driver.counts.roundTrips == before + 10)
        }
    }

    @Test func movesThatAreAskedForTogetherShareACommit() async throws {
        try await withNodes { nodes in
            let one = nodes.node("one") { $0.poolSize = 1 }
            let ids = ["a", "b", "c", "d"]
            for id in ids {
                try await one.insert(ActivationStoreConformance.record(id))
                try await one.withSigningTurn(of: id) { turn in _ = try await turn.update { $0.takeMove() } }
            }
            let driver = try one.postgres
            let before = await driver.counts.roundTrips
            _ = try await driver.together(ids, in: driver.durable) { id in
                try await one.withSigningTurn(of: id) { turn in _ = try await turn.update { $0.takeMove() } }
            }
            #expect(await driver.counts.roundTrips == before + 1)
            for id in ids { #expect(try await one.record(of: id)?.counterMoves == 508) }
        }
    }

    /// Its own are the counter's with its intent, and the outcome. Two for the pause and one for settings belong to the transaction.
    @Test func anApprovalHasTwoStatementsOfItsOwn() async throws {
        try await withNodes { nodes in
            let one = nodes.node("one") {
                $0.poolSize = 1
                // No heartbeat comes between.
                $0.lifetimes = NodeLifetimes(heartbeat: .seconds(600), death: .seconds(3_600))
            }
            let ids = ["a", "b", "c", "d", "e", "f"]
            let move: @Sendable (String) async throws -> UInt64 = { id in
                try await one.withSigningTurn(of: id) { turn in
                    try await turn.update(recording: ActivationStoreConformance.intent(id, "1")) { $0.takeMove() + 1 }
                }
            }
            let record: @Sendable (String, UInt64) async throws -> Void = { id, moves in
                try await one.record(ActivationStoreConformance.outcome(.accepted), ofMove: moves, of: id)
            }
            for id in ids {
                try await one.insert(ActivationStoreConformance.record(id))
                try await record(id, try await move(id))
            }
            let driver = try one.postgres
            var before = await driver.counts.statements
            for id in ids { try await record(id, try await move(id)) }
            #expect(await driver.counts.statements == before + ids.count * 5)
            before = await driver.counts.statements
            let moves = try await driver.together(ids, in: driver.durable, move)
            _ = try await driver.together(ids, in: driver.relaxed) { try await record($0, moves[$0] ?? 0) }
            #expect(await driver.counts.statements == before + ids.count * 2 + 4)
            for id in ids { #expect(try await one.openDecisions(of: id).isEmpty) }
        }
    }

    /// Two nodes whose commits touch the same rows would wait for each other.
    @Test func aSharedCommitLocksRowsInTheOrderOfTheirSlots() async throws {
        try await withNodes { nodes in
            let one = nodes.node("one") { $0.poolSize = 1 }
            let ids = ["a", "b", "c", "d"]
            for id in ids { try await one.insert(ActivationStoreConformance.record(id)) }
            let (isHeld, release) = (Shared(false), DispatchSemaphore(value: 0))
            let driver = try one.postgres
            for id in ids { _ = try await one.update(id) { $0.takeMove() } }
            let holder = Task {
                try await one.postgres.pool.withConnection { _ in
                    isHeld.value = true
                    release.wait()
                }
            }
            await until { isHeld.value }
            try await withThrowingTaskGroup { group in
                for (index, id) in ids.reversed().enumerated() {
                    group.addTask { _ = try await one.update(id) { $0.takeMove() } }
                    await until { driver.durable.gatheredCount + driver.pool.waitingCount == index + 1 }
                }
                release.signal()
                try await holder.value
                try await group.waitForAll()
            }
            // The numbers of the commands that wrote the rows, in one transaction.
            let rows = try nodes.connect().run(
                "SELECT cmin::text::int8, xmin::text::int8 FROM activation ORDER BY slot",
                [],
                .none
            ).map { (try $0.integer(0), try $0.integer(1)) }
            #expect(rows.map(\.0) == rows.map(\.0).sorted() && Set(rows.map(\.0)).count == ids.count)
            #expect(Set(rows.map(\.1)).count == 1)
        }
    }

    /// The acts of a frozen machine, as the others see them.
    @Test func aHolderThatIsCutOffLosesTheRight() async throws {
        try await withNodes { nodes in
            let proxy = try FaultProxy(to: nodes.server.port)
            let one = nodes.node("one") { configuration in
                configuration.connectionString = { [server = nodes.server] in server.connectionString(through: proxy) }
                configuration.statementTimeout = .milliseconds(200)
                configuration.connectTimeout = .milliseconds(500)
            }
            let other = nodes.node("other")
            try await other.insert(ActivationStoreConformance.record("a"))
            let error = try await one.withSigningTurn(of: "a") { turn in
                _ = try await turn.update { $0.takeMove() }
                let notAfter = try #require(turn.notAfter)
                #expect(notAfter > .now)
                proxy.mode = .freeze
                try await other.withSigningTurn(of: "a") { otherTurn in
                    // Nothing that the first one signs leaves any more.
                    #expect(try #require(turn.notAfter) < .now)
                    _ = try await otherTurn.update { $0.takeMove() }
                }
                proxy.mode = .pass
                proxy.cut()
                return await #expect(throws: MobileTokenError.self) { try await turn.update { $0.takeMove() } }
            }
            #expect(error?.code == .signingTurnLost)
            #expect(try await other.record(of: "a")?.counterMoves == 508)
            // It comes back under another number.
            try await one.withSigningTurn(of: "a") { turn in _ = try await turn.update { $0.takeMove() } }
            #expect(try await other.record(of: "a")?.counterMoves == 509)
        }
    }

    /// Strings that are equal to Swift and are not the same bytes.
    @Test func identifiersThatLookAlikeAreTwoActivations() async throws {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        try await withNodes { nodes in
            let store = nodes.node()
            for id in [composed, decomposed] {
                try await store.insert(ActivationStoreConformance.record(id))
                try await store.withSigningTurn(of: id) { turn in _ = try await turn.update { $0.takeMove() } }
            }
            #expect(try await store.record(of: composed)?.counterMoves == 507)
            #expect(try await store.record(of: decomposed)?.counterMoves == 507)
        }
    }

    @Test func aNodeThatSignsNoMoreGivesItsLeaseBackAfterALifetime() async throws {
        let clock = ManualClock()
        try await withNodes { nodes in
            let store = nodes.node("one") { configuration in
                configuration.lifetimes = NodeLifetimes(heartbeat: .seconds(60), death: .seconds(3_600))
                configuration.clock = clock
            }
            try await store.insert(ActivationStoreConformance.record("a"))
            try await store.withSigningTurn(of: "a") { _ in }
            await clock.waitForSleepers(1)
            clock.advance(by: .seconds(3_600))
            await clock.waitForSleepers(1)
            #expect(try await store.nodes().count == 1)
            clock.advance(by: .seconds(60))
            try await until { try await store.nodes().isEmpty }
            try await store.withSigningTurn(of: "a") { turn in _ = try await turn.update { $0.takeMove() } }
            #expect(try await store.nodes().count == 1)
        }
    }

    @Test func aReceiptNamesTheMembershipThatSigned() async throws {
        try await withNodes { nodes in
            let store = nodes.node()
            try await store.insert(ActivationStoreConformance.record("a"))
            let intent = ActivationStoreConformance.intent(byHand: "a")
            let lease = try await store.withSigningTurn(of: "a") { turn in
                _ = try await turn.update(recording: intent) { $0.takeMove() }
                return try await store.nodes().first?.number
            }
            let receipt = try #require(try await store.receipts(of: "a", after: 0, limit: 1).first)
            #expect(receipt.intent.fence == lease.map { UInt64($0) })
            #expect(receipt.intent.fence != nil)
        }
    }

    /// It has another slot then, and nobody may sign with it: not even the node that could.
    @Test func anActivationThatWasRemovedAndAddedAgainCanBeSignedWith() async throws {
        try await withNodes { nodes in
            let (one, other) = (nodes.node("one"), nodes.node("other"))
            try await one.insert(ActivationStoreConformance.record("a"))
            try await one.withSigningTurn(of: "a") { turn in _ = try await turn.update { $0.takeMove() } }
            try await other.remove("a")
            try await other.insert(ActivationStoreConformance.record("a"))
            // It may find out by failing, but only once.
            let error = await #expect(throws: MobileTokenError.self) {
                try await one.withSigningTurn(of: "a") { turn in _ = try await turn.update { $0.takeMove() } }
            }
            #expect(error?.code == .signingTurnLost)
            try await one.withSigningTurn(of: "a") { turn in _ = try await turn.update { $0.takeMove() } }
            #expect(try await one.record(of: "a")?.counterMoves == 507)
        }
    }

    @Test func aNodeThatClosesGivesTheRightBack() async throws {
        try await withNodes { nodes in
            let change = { (configuration: inout PostgresConfiguration) in
                configuration.lifetimes = NodeLifetimes(heartbeat: .seconds(60), death: .seconds(3_600))
            }
            let (one, other) = (nodes.node("one", change), nodes.node("other", change))
            try await one.insert(ActivationStoreConformance.record("a"))
            try await one.withSigningTurn(of: "a") { _ in }
            await one.close()
            try await other.withSigningTurn(of: "a") { _ in }
            let error = await #expect(throws: MobileTokenError.self) { try await one.activationIDs() }
            #expect(error?.code == .storeClosed)
        }
    }

    @Test func aChangeOutsideOfATurnNeedsNoRight() async throws {
        try await withNodes { nodes in
            let (one, other) = (nodes.node("one"), nodes.node("other"))
            try await one.insert(ActivationStoreConformance.record("a"))
            try await one.withSigningTurn(of: "a") { turn in
                _ = try await turn.update { $0.takeMove() }
                try await other.update("a") { $0.tokens = [:] }
                _ = try await turn.update { $0.takeMove() }
            }
            let record = try await one.record(of: "a")
            #expect(record?.counterMoves == 508)
            #expect(record?.tokens.isEmpty == true)
        }
    }
}
