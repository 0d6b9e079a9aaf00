import StoreTesting
import PostgresDatabase
import PostgresTestServer
import PowerAuth
import Testing

@testable import MobileTokenPostgres

@Suite(.timeLimit(.minutes(5)), .ifPostgresIsInstalled)
struct PostgresRoleTests {
    /// The grants of the documentation are enough, and nothing else is needed.
    @Test func theRoleWithTheLeastRightsIsEnough() async throws {
        let server = try await PostgresTestServer.start()
        try await withNodes(server) { nodes in
            let bot = nodes.node("bot") { configuration in
                configuration.connectionString = {
                    "host=\(server.folder) port=\(server.port) user=bot dbname=postgres"
                }
                configuration.migrates = false
            }
            let tooEarly = await #expect(throws: MobileTokenError.self) { try await bot.open() }
            #expect(tooEarly?.code == .storePermissions)  // there is no such role
            let owner = try nodes.connect()
            try owner.run("CREATE ROLE bot LOGIN")
            try await nodes.node("owner").migrate(grantingTo: "bot")

            try await bot.prove()
            try await bot.insert(ActivationStoreConformance.record("a"))
            try await bot.withSigningTurn(of: "a") { turn in
                _ = try await turn.update(recording: ActivationStoreConformance.intent("a", "1")) { $0.takeMove() }
            }
            try await bot.record(ActivationStoreConformance.outcome(.accepted), ofMove: 507, of: "a")
            #expect(try await bot.receipts(of: "a", after: 0, limit: 1).count == 1)
            #expect(try await bot.eraseReceipts(.activation("a")) == 1)
            try await bot.reseal()
            try await bot.remove("a")
            #expect(try await bot.activationIDs() == [])

            // Statements for which the role has no need.
            for statement in [
                "DELETE FROM receipt", "UPDATE receipt SET activation_id = 'b'", "UPDATE receipt SET date = 0",
                "DELETE FROM sealing_key", "UPDATE sealing_key SET key_check = ''", "DELETE FROM incarnation",
                "UPDATE schema_version SET oldest_reader = 1000", "DROP TABLE receipt",
            ] {
                let error = await #expect(throws: MobileTokenError.self) {
                    try await bot.postgres.withConnection { _ = try $0.run(statement) }
                }
                #expect(error?.code == .storePermissions, "\(statement)")
            }
            // A table that an update adds can be used before anybody grants it.
            try owner.run("CREATE TABLE later (number int8)")
            try await bot.postgres.withConnection { _ = try $0.run("INSERT INTO later VALUES (1)") }
        }
    }

    @Test func aStoreOfANewerVersionIsLeftAlone() async throws {
        try await withNodes { nodes in
            try await nodes.node("one").insert(ActivationStoreConformance.record("a"))
            let connection = try nodes.connect()
            // One that this version can still work with, and one that it cannot.
            try connection.run("INSERT INTO schema_version (version, oldest_reader) VALUES (1000, 1)")
            #expect(try await nodes.node("two").activationIDs() == ["a"])
            try connection.run("INSERT INTO schema_version (version, oldest_reader) VALUES (1001, 1000)")
            let error = await #expect(throws: MobileTokenError.self) { try await nodes.node("three").open() }
            #expect(error?.code == .storeFromFuture)
        }
    }

    @Test func nodesThatStartAtOnceMakeTheTablesOnce() async throws {
        try await withNodes { nodes in
            let stores = (0..<6).map { nodes.node("node \($0)") }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for store in stores { group.addTask { try await store.open() } }
                try await group.waitForAll()
            }
            try await stores[0].insert(ActivationStoreConformance.record("a"))
            for store in stores { #expect(try await store.record(of: "a") == ActivationStoreConformance.record("a")) }
        }
    }

    @Test(arguments: [
        NodeLifetimes(heartbeat: .zero, death: .seconds(1)), NodeLifetimes(heartbeat: .seconds(2), death: .seconds(3)),
        NodeLifetimes(heartbeat: .seconds(1), death: .seconds(Int64.max)),
    ])
    func lifetimesThatNobodyCanLiveWithAreRefused(lifetimes: NodeLifetimes) async throws {
        try await withNodes { nodes in
            let store = nodes.node { $0.lifetimes = lifetimes }
            let error = await #expect(throws: MobileTokenError.self) { try await store.open() }
            #expect(error?.code == .invalidConfiguration)
        }
    }

    @Test func timesOutOfBoundsDoNoHarm() async throws {
        try await withNodes { nodes in
            let store = nodes.node { configuration in
                configuration.statementTimeout = .seconds(Int64.max)
                configuration.connectTimeout = .seconds(Int64.max)
                configuration.poolSize = .min
            }
            try await store.insert(ActivationStoreConformance.record("a"))
            #expect(try await store.update("a") { $0.takeMove() } == 506)
        }
    }
}
