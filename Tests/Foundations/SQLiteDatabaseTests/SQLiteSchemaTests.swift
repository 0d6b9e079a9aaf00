import SQLiteDatabase
import TestSupport
import Testing

/// Bringing a database to its current version, and refusing all others.
@Suite struct SQLiteSchemaTests {
    private let folder: TemporaryFolder
    private let connection: SQLiteConnection
    private let first = SQLiteSchema(applicationID: 7, migrations: [["CREATE TABLE item (id INTEGER) STRICT"]])
    private let second = SQLiteSchema(
        applicationID: 7,
        migrations: [
            ["CREATE TABLE item (id INTEGER) STRICT"],
            ["INSERT INTO item VALUES (1)", "INSERT INTO item VALUES (2)"],
        ]
    )

    init() throws {
        self.folder = try TemporaryFolder()
        let path = self.folder.file("test.sqlite")
        self.connection = try SQLiteConnection(path: path, access: .create(permissions: 0o600))
    }

    private func migrate(_ schema: SQLiteSchema) throws {
        try schema.migrate(self.connection, from: try schema.check(self.connection))
    }

    private func items() throws -> [Int64] {
        try self.connection.rows("SELECT id FROM item ORDER BY id") { $0.integer(0) }
    }

    @Test func eachStepIsTakenOnce() throws {
        let steps: [(SQLiteSchema, [Int64])] = [
            (self.first, []), (self.first, []), (self.second, [1, 2]), (self.second, [1, 2]),
        ]
        for (schema, items) in steps {
            try self.migrate(schema)
            #expect(try self.items() == items)
        }
    }

    @Test func aStepThatFailsLeavesTheVersionBefore() throws {
        try self.migrate(self.first)
        let broken = SQLiteSchema(
            applicationID: 7,
            migrations: [[], ["INSERT INTO item VALUES (1)", "INSERT INTO nowhere VALUES (1)"]]
        )
        #expect(throws: SQLiteError.self) { try self.migrate(broken) }
        #expect(try self.items().isEmpty)
        try self.migrate(self.second)
        #expect(try self.items() == [1, 2])
    }

    @Test func aNewerDatabaseIsRefused() throws {
        try self.migrate(self.second)
        #expect(throws: SQLiteSchema.Mismatch.newer(version: 2)) { try self.first.check(self.connection) }
    }

    @Test(arguments: ["PRAGMA application_id = 8", "CREATE TABLE other (id INTEGER)", "PRAGMA user_version = -1"])
    func aForeignDatabaseIsRefused(_ sql: String) throws {
        try self.connection.run(sql)
        #expect(throws: SQLiteSchema.Mismatch.foreign) { try self.first.check(self.connection) }
    }
}
