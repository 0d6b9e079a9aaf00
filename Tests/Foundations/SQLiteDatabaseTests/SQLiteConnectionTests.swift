import Glibc
import SQLiteDatabase
import TestSupport
import Testing

/// Values, statements and transactions of one connection.
@Suite struct SQLiteConnectionTests {
    private struct Refusal: Error {}

    private let folder: TemporaryFolder
    private let path: String
    private let connection: SQLiteConnection

    init() throws {
        self.folder = try TemporaryFolder()
        self.path = self.folder.file("test.sqlite")
        self.connection = try SQLiteConnection(path: self.path, access: .create(permissions: 0o600))
        try self.connection.run("CREATE TABLE item (id INTEGER PRIMARY KEY, value ANY) STRICT")
    }

    private func insert(_ value: SQLiteValue) throws {
        try self.connection.run("INSERT INTO item (value) VALUES (?)", [value])
    }

    private func count() throws -> Int64? {
        try self.connection.firstRow("SELECT count(*) FROM item") { $0.integer(0) }
    }

    // MARK: Values

    /// Of up to 100 000 characters, which are no arguments: reports show these whole.
    @Test func stringsAreReadAsTheyWereWritten() throws {
        let values = ["", "a\0b", "ž🙂", String(repeating: "x", count: 100_000)]
        for string in values { try self.insert(.text(string)) }
        let rows = try self.connection.rows("SELECT value, typeof(value) FROM item ORDER BY id") {
            ($0.text(0), $0.text(1))
        }
        #expect(rows.map { Array($0.0.utf8) } == values.map { Array($0.utf8) })
        #expect(rows.allSatisfy { $0.1 == "text" })
    }

    @Test func bytesAreReadAsTheyWereWritten() throws {
        let values = [[], [0], [0xFF, 0, 0xFE], [UInt8](repeating: 7, count: 100_000)]
        for bytes in values { try self.insert(.blob(bytes)) }
        let rows = try self.connection.rows("SELECT value, typeof(value) FROM item ORDER BY id") {
            ($0.blob(0), $0.text(1))
        }
        #expect(rows.map(\.0) == values)
        #expect(rows.allSatisfy { $0.1 == "blob" })
    }

    @Test func nullIsNoEmptyValue() throws {
        for value: SQLiteValue in [.null, .integer(.min), .blob([]), .text("")] { try self.insert(value) }
        let rows = try self.connection.rows("SELECT value FROM item ORDER BY id") { ($0.isNull(0), $0.integer(0)) }
        #expect(rows.map(\.0) == [true, false, false, false])
        #expect(rows.map(\.1) == [0, .min, 0, 0])
    }

    @Test func aValueTooFewIsRefused() throws {
        let insertion = "INSERT INTO item (value) VALUES (?)"
        for values: [SQLiteValue] in [[], [.null, .null]] {
            let error = #expect(throws: SQLiteError.self) { try self.connection.run(insertion, values) }
            #expect(error?.kind == .statement)
        }
        #expect(try self.count() == 0)
    }

    // MARK: Statements

    @Test func aStatementMayFailAndBeRunAgain() throws {
        let insertion = "INSERT INTO item (id) VALUES (?)"
        try self.connection.run(insertion, [.integer(1)])
        let error = #expect(throws: SQLiteError.self) { try self.connection.run(insertion, [.integer(1)]) }
        #expect(error?.kind == .constraint)
        try self.connection.run(insertion, [.integer(2)])
        #expect(try self.count() == 2)
        #expect(self.connection.changedRowCount == 2)
    }

    @Test func aFailureWhileReadingEndsTheQuery() throws {
        for _ in 0..<3 { try self.insert(.integer(1)) }
        var readCount = 0
        #expect(throws: Refusal.self) {
            try self.connection.rows("SELECT value FROM item") { _ in
                readCount += 1
                throw Refusal()
            }
        }
        #expect(readCount == 1)
        // A query that still stood at its row would keep the table from being dropped.
        try self.connection.run("DROP TABLE item")
    }

    @Test func anErrorQuotesNoStatementAndNoValue() {
        let error = #expect(throws: SQLiteError.self) { try self.connection.run("SELECT 'secret' FROM nowhere") }
        #expect(error?.description == "SQLite 1: SQL logic error")
        #expect(error?.kind == .statement)
    }

    // MARK: Transactions

    @Test func aTransactionThatThrowsLeavesNothing() throws {
        #expect(throws: Refusal.self) {
            try self.connection.transaction {
                try self.insert(.integer(1))
                #expect(self.connection.isInTransaction)
                throw Refusal()
            }
        }
        #expect(!self.connection.isInTransaction)
        #expect(try self.count() == 0)
    }

    @Test func aTransactionThatSQLiteEndedStaysEnded() throws {
        #expect(throws: Refusal.self) {
            try self.connection.transaction {
                try self.connection.run("ROLLBACK")
                #expect(!self.connection.isInTransaction)
                throw Refusal()
            }
        }
        try self.connection.transaction { try self.insert(.integer(1)) }
        #expect(try self.count() == 1)
    }
}
