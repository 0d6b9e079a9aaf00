import Dispatch
import PostgresDatabase
import PostgresTestServer
import PowerAuth
import TestSupport
import Testing

@testable import MobileTokenPostgres

/// Tables that are brought to this version while nodes are at work.
@Suite(.timeLimit(.minutes(5)), .ifPostgresIsInstalled)
struct MigrationTests {
    /// As if the indexes had come later.
    private static let before = PostgresSchema.steps.map {
        PostgresSchema.Step(statements: $0.statements, oldestReader: $0.oldestReader)
    }
    /// A step more, which needs a table for itself for a moment.
    private static let after =
        PostgresSchema.steps + [
            PostgresSchema.Step(
                statements: ["ALTER TABLE receipt ADD COLUMN later int8"],
                oldestReader: PostgresSchema.firstVersion
            )
        ]

    private static func validIndexes(_ connection: PostgresConnection, _ schema: String) throws -> Set<String> {
        Set(
            try connection.run(
                """
                SELECT relname::text FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
                WHERE indisvalid AND relnamespace = to_regnamespace($1)
                """,
                [.text(PostgresConnection.quotedName(schema))],
                .none
            ).map { try $0.text(0) }
        )
    }

    private static let added = Set(PostgresSchema.steps.flatMap(\.indexes).map(\.name))

    @Test func indexesAreMadeWithTheTablesOrAfterwards() async throws {
        try await withNodes { nodes in
            #expect(!Self.added.isEmpty)
            try await nodes.node("owner").migrate()
            let database = try nodes.connect()
            #expect(try Self.validIndexes(database, nodes.schema).isSuperset(of: Self.added))
        }
        // A server of its own: an index waits for everybody else.
        let server = try await PostgresTestServer.start()
        try await withNodes(server) { nodes in
            let database = try nodes.connect()
            try PostgresSchema(name: nodes.schema, steps: Self.before).prepare(database, migrates: true)
            #expect(try Self.validIndexes(database, nodes.schema).isDisjoint(with: Self.added))
            try await nodes.node("owner").migrate()
            #expect(try Self.validIndexes(database, nodes.schema).isSuperset(of: Self.added))
            // As an attempt leaves it that was interrupted.
            try database.run("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'receipt_sealed'::regclass")
            try await nodes.node("owner").migrate()
            #expect(try Self.validIndexes(database, nodes.schema).isSuperset(of: Self.added))
        }
    }

    /// Whoever comes after a migration that waits for a long query would wait for both.
    @Test func aLongQueryKeepsNobodyFromSigning() async throws {
        let server = try await PostgresTestServer.start()
        try await withNodes(server) { nodes in
            let database = try nodes.connect()
            try PostgresSchema(name: nodes.schema, steps: Self.before).prepare(database, migrates: true)
            let (reader, isReading, end) = (nodes.node("reader"), Shared(false), DispatchSemaphore(value: 0))
            let reading = Task {
                try await reader.postgres.pool.withConnection { connection in
                    try connection.transaction { transaction in
                        try transaction.run("SELECT FROM receipt")
                        isReading.value = true
                        end.wait()
                    }
                }
            }
            await until { isReading.value }
            let owner = nodes.node("owner") { $0.steps = Self.after }
            let migrating = Task { try await owner.migrate() }
            try await until {
                try database.run("SELECT FROM pg_locks WHERE NOT granted AND locktype = 'relation'", [], .none).count
                    > 0
            }
            // As the intent of a decision is written.
            try database.run(
                """
                INSERT INTO receipt (activation_id, moves, tag, date, weight, sealing_key, body)
                SELECT 'a', 1, 1, 1, 0, number, '' FROM sealing_key
                """
            )
            end.signal()
            try await reading.value
            try await migrating.value
            #expect(try Self.validIndexes(database, nodes.schema).isSuperset(of: Self.added))
        }
    }

    /// No version before was released.
    @Test(arguments: [1, 4, PostgresSchema.firstVersion - 1])
    func tablesOfAVersionThatWasNeverReleasedAreRefusedByName(version: Int64) async throws {
        try await withNodes { nodes in
            try await nodes.node("owner").migrate()
            let database = try nodes.connect()
            try database.run("DELETE FROM schema_version WHERE version > (SELECT min(version) FROM schema_version)")
            try database.run("UPDATE schema_version SET version = $1", [.integer(version)])
            for migrates in [true, false] {
                let error = await #expect(throws: MobileTokenError.self) {
                    try await nodes.node("one") { $0.migrates = migrates }.open()
                }
                #expect(error?.code == .storeUnreadable)
                #expect(error?.message.contains("version \(version), which was never released") == true)
            }
        }
    }
}
