import StoreTesting
import MobileTokenTesting
import PostgresDatabase
import PostgresTestServer
import PowerAuth
import TestSupport
import Testing

import MobileTokenPostgres

/// A standby that takes the server's place within the lifetime of the nodes, which it knows, and lacks the last commits.
@Suite(.timeLimit(.minutes(5)), .ifPostgresIsInstalled)
struct FailoverTests {
    /// A lifetime that no test waits for.
    private static func longLived(_ configuration: inout PostgresConfiguration) {
        configuration.lifetimes = NodeLifetimes(heartbeat: .seconds(60), death: .seconds(3_600))
    }

    /// Takes a counter value, as a code for a person does that no server is asked about.
    private static func sign(_ store: ActivationStore) async throws -> SigningCounter? {
        try await store.withSigningTurn(of: "a") { turn in
            try await turn.update { try $0.ledger.take(.notRequired, confirmed: nil)?.value }
        }
    }

    private static func lives(_ connection: PostgresConnection) throws -> Int64 {
        try connection.run("SELECT count(*) FROM incarnation", [], .none)[0].integer(0)
    }

    /// Another timeline than the one that the last epoch has, as after a promotion, while all connections stand.
    private static func changeTimeline(_ connection: PostgresConnection) throws {
        try connection.run("UPDATE incarnation SET timeline = '0000ABCD'")
    }

    @Test func noValueIsUsedTwice() async throws {
        let server = try await PostgresTestServer.start()
        try await withNodes(server) { nodes in
            let clock = ManualClock()
            let one = nodes.node("one", Self.longLived)
            let other = nodes.node("other") { configuration in
                Self.longLived(&configuration)
                configuration.clock = clock
            }
            for id in ["a", "b"] { try await one.insert(ActivationStoreConformance.record(id)) }
            // It is alive, to whoever reads a copy of the tables.
            try await other.withSigningTurn(of: "b") { _ in }
            try await server.stop()
            try await server.backUp(to: "standby")
            try await server.start()
            let spent = try await Self.sign(one)
            try await server.crash()
            try await server.restore("standby")
            try await server.promote()

            let isOver = Shared(false)
            let signing = Task {
                defer { isOver.value = true }
                return try await Self.sign(other)
            }
            // Until a lifetime has passed in which others may still rely on their leases.
            await until {
                clock.advance(by: .seconds(3_600))
                return isOver.value
            }
            let error = await #expect(throws: MobileTokenError.self) {
                let value = try await signing.value
                #expect(value != spent)
            }
            #expect(error?.code == .stateRolledBack)
            #expect(try Self.lives(nodes.connect()) == 2)
        }
    }

    @Test func aHeartbeatNoticesAnotherTimeline() async throws {
        try await withNodes { nodes in
            let store = nodes.node()
            try await store.insert(ActivationStoreConformance.record("a"))
            _ = try await Self.sign(store)
            let database = try nodes.connect()
            try Self.changeTimeline(database)
            try await until { try Self.lives(database) == 2 }
            let node = try store.postgres.node
            await until { node.reliableLease == nil }
            let error = await #expect(throws: MobileTokenError.self) { try await Self.sign(store) }
            #expect(error?.code == .stateRolledBack)
        }
    }

    /// Behind a pooler, connections stand while the server becomes another one.
    @Test func aChangeThatIsUnderWayNoticesAnotherTimeline() async throws {
        try await withNodes { nodes in
            let store = nodes.node("one", Self.longLived)
            try await store.insert(ActivationStoreConformance.record("a"))
            let error = await #expect(throws: MobileTokenError.self) {
                try await store.withSigningTurn(of: "a") { turn in
                    _ = try await turn.update { $0.takeMove() }
                    try Self.changeTimeline(nodes.connect())
                    _ = try await turn.update { $0.takeMove() }
                }
            }
            #expect(error?.code == .signingTurnLost)
            #expect(try await store.record(of: "a")?.counterMoves == 507)
            #expect(try Self.lives(nodes.connect()) == 2)
            // Whoever had a lease in the epoch before has none in this one.
            #expect(try await store.nodes().isEmpty)
        }
    }

    @Test func aServerThatStandsByIsNotUsed() async throws {
        let server = try await PostgresTestServer.start()
        try await withNodes(server) { nodes in
            let store = nodes.node("one")
            try await store.insert(ActivationStoreConformance.record("a"))
            try await server.stop()
            try await server.standBy()
            for store in [store, nodes.node("other")] {
                let error = await #expect(throws: MobileTokenError.self) { try await store.record(of: "a") }
                #expect(error?.code == .storeUnreachable)
            }
            try await server.promote()
            #expect(try await store.record(of: "a")?.ledger.wasPutBack == true)
        }
    }
}
