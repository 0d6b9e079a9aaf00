import StoreTesting
import MobileTokenTesting
import PostgresDatabase
import PostgresTestServer
import PowerAuth
import Testing

@testable import MobileTokenPostgres

/// A database whose clock was put back: everything that it holds is of ten minutes later.
@Suite(.timeLimit(.minutes(5)), .ifPostgresIsInstalled)
struct ShiftedClockTests {
    private static let shift = "600000000"  // microseconds

    @Test func aDeadNodeIsNotKeptAlive() async throws {
        try await withNodes { nodes in
            let proxy = try FaultProxy(to: nodes.server.port)
            let one = nodes.node("one") { configuration in
                configuration.connectionString = { [server = nodes.server] in server.connectionString(through: proxy) }
            }
            try await one.insert(ActivationStoreConformance.record("a"))
            try await one.withSigningTurn(of: "a") { turn in _ = try await turn.update { $0.takeMove() } }
            proxy.mode = .freeze
            try nodes.connect().run("UPDATE node SET expires_at = expires_at + interval '10 minutes'")
            try await nodes.node("other").withSigningTurn(of: "a") { turn in
                _ = try await turn.update { $0.takeMove() }
            }
        }
    }

    @Test func aNodeThatIsAliveStaysSo() async throws {
        try await withNodes { nodes in
            let lease = try await nodes.node("one").withSigningTurn(of: "a", inserting: true) { store in
                try nodes.connect().run("UPDATE node SET expires_at = expires_at + interval '10 minutes'")
                // Another one looks who has died.
                try await nodes.node("other").withSigningTurn(of: "b", inserting: true) { _ in }
                return try await store.postgres.node.lease()
            }
            #expect(
                try nodes.connect().run("SELECT FROM node WHERE number = $1", [.integer(lease.number)], .none).count
                    == 1
            )
        }
    }

    /// It may have been taken for dead by who looked before.
    @Test func aHeartbeatRevivesNoLeaseThatIsOver() async throws {
        try await withNodes { nodes in
            let store = nodes.node()
            try await store.insert(ActivationStoreConformance.record("a"))
            let (node, database) = (try store.postgres.node.database, try nodes.connect())
            let former = try #require(await node.takeLease(in: node.quarantine().epoch))
            try database.run("UPDATE node SET expires_at = clock_timestamp() - interval '1 second'")
            #expect(try await node.renew(former).lease == nil)
            let later = try #require(await node.takeLease(in: node.quarantine().epoch))
            #expect(try await node.renew(former).lease == nil)
            #expect(try await node.renew(later).lease?.number == later.number)
        }
    }

    @Test func aFenceBeginsAboveEveryFenceThatIsStored() async throws {
        try await withNodes { nodes in
            let store = nodes.node()
            try await store.insert(ActivationStoreConformance.record("a"))
            func lease() async throws -> NodeLease {
                let node = try store.postgres.node.database
                let taken = try #require(await node.takeLease(in: node.quarantine().epoch))
                _ = try await PostgresBuckets(driver: store.postgres).take(64, as: taken)
                return taken
            }
            let first = try await lease()
            let database = try nodes.connect()
            try database.run("DELETE FROM node")
            try database.run("UPDATE fence SET last = last + \(Self.shift)")
            #expect(try await lease().number > first.number + 600_000_000)
        }
    }

    /// The clock was ahead and is right again, so that the numbers are ahead of it; and the database went back, so that numbers which
    /// it has given are given again.
    @Test func aNumberThatTheDatabaseHasForgottenIsNotGivenAgain() async throws {
        try await withNodes { nodes in
            let store = nodes.node()
            try await store.insert(ActivationStoreConformance.record("a"))
            let node = try store.postgres.node.database
            let database = try nodes.connect()
            try database.run(
                "UPDATE fence SET last = (extract(epoch FROM clock_timestamp()) * 1000000)::int8 + \(Self.shift)"
            )
            let last = try #require(try database.run("SELECT last FROM fence", [], .none).first?.integer(0))
            var numbers: Set<Int64> = []
            for _ in 0..<3 {
                let number = try #require(await node.takeLease(in: node.quarantine().epoch)).number
                #expect(number > last)
                #expect(numbers.insert(number).inserted)
                try database.run("DELETE FROM node")
                try database.run("UPDATE fence SET last = \(last)")
            }
        }
    }

    /// A node may stand still between its look at the quarantine and its lease.
    @Test func aLeaseIsTakenInTheEpochWhoseQuarantineIsOver() async throws {
        try await withNodes { nodes in
            let store = nodes.node()
            try await store.insert(ActivationStoreConformance.record("a"))
            let node = try store.postgres.node.database
            let first = try await node.quarantine()
            #expect(first.rest == .zero)
            #expect(try await node.takeLease(in: first.epoch) != nil)
            try await store.postgres.withConnection { try DatabaseEpoch.begin(after: first.epoch.number, $0) }
            #expect(try await node.takeLease(in: first.epoch) == nil)
            let second = try await node.quarantine()
            #expect(second.epoch.number > first.epoch.number)
            #expect(second.rest > (try store.postgres.node.lifetimes.heartbeat))
            // A failover loses that epoch, and another one gets its number.
            try nodes.connect().run(
                "UPDATE incarnation SET begun_at = begun_at + interval '1 second' WHERE number = \(second.epoch.number)"
            )
            #expect(try await node.takeLease(in: second.epoch) == nil)
            let third = try await node.quarantine()
            #expect(third.epoch.number == second.epoch.number)
            #expect(try await node.takeLease(in: third.epoch) != nil)
        }
    }

    /// An epoch that seems to begin in ten minutes keeps nobody out for longer than one lifetime.
    @Test func aQuarantineEndsAfterALifetime() async throws {
        try await withNodes { nodes in
            let clock = ManualClock()
            let store = nodes.node("one") { configuration in
                configuration.lifetimes = NodeLifetimes(heartbeat: .seconds(60), death: .seconds(300))
                configuration.clock = clock
            }
            try await store.insert(ActivationStoreConformance.record("a"))
            try nodes.connect().run(
                """
                INSERT INTO incarnation (system_identifier, timeline, reason, begun_at)
                SELECT system_identifier, timeline, 'test', clock_timestamp() + interval '10 minutes' FROM incarnation
                """
            )
            let signing = Task { try await store.withSigningTurn(of: "a") { _ in } }
            await clock.waitForSleepers(2)  // the keeper's and this one
            clock.advance(by: .seconds(300))
            try await signing.value
        }
    }
}

extension ActivationStore {
    /// Runs `body` while this node has the right to sign with an activation of its own.
    fileprivate func withSigningTurn<Result: Sendable>(
        of id: String,
        inserting: Bool,
        _ body: @Sendable (ActivationStore) async throws -> Result
    ) async throws -> Result {
        try await self.insert(ActivationStoreConformance.record(id))
        return try await self.withSigningTurn(of: id) { _ in try await body(self) }
    }
}
