import Dispatch
import MobileTokenTesting
import PostgresDatabase
import PostgresTestServer
import PowerAuth
import TestSupport
import Testing

@testable import MobileTokenPostgres

/// Tables that are brought to this version while nodes are at work.
@Suite(
    .timeLimit(.minutes(2)),
    .enabled(if: PostgresTestServer.isInstalled, "no PostgreSQL server is installed")
)
struct MigrationTests {
    private static let before = Array(PostgresSchema.steps.dropLast())

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
                try await reader.pool.withConnection { connection in
                    try connection.transaction { transaction in
                        try transaction.run("SELECT FROM receipt")
                        isReading.value = true
                        end.wait()
                    }
                }
            }
            await until { isReading.value }
            let migrating = Task { try await nodes.node("owner").migrate() }
            try await until {
                try database.run("SELECT FROM pg_locks WHERE NOT granted AND locktype = 'relation'", [], .none).count
                    > 0
            }
            // As the intent of a decision is written.
            try database.run(
                """
                INSERT INTO receipt (activation_id, moves, date, is_open, sealing_key, body)
                SELECT 'a', 1, 1, true, number, '' FROM sealing_key
                """
            )
            end.signal()
            try await reading.value
            try await migrating.value
            #expect(try Self.validIndexes(database, nodes.schema).isSuperset(of: Self.added))
        }
    }
}
