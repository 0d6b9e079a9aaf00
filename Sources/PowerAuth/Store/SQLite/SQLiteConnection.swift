internal import CSQLite
internal import Glibc

/// A connection to a SQLite database, with the statements it has prepared so far.
///
/// Used by one thread at a time: it takes no locks of its own.
final class SQLiteConnection {
    private let handle: OpaquePointer
    private var statements: [String: OpaquePointer] = [:]
    /// How many statements were run.
    private(set) var statementCount = 0

    /// A value to put into a statement.
    enum Value {
        case integer(Int64)
        case text(String)
        case blob([UInt8])
    }

    /// Opens an existing file for reading and writing.
    init(path: String, vfs: String? = nil) throws(SQLiteFailure) {
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let status = sqlite3_open_v2(path, &handle, flags, vfs)
        guard status == SQLITE_OK, let handle else {
            let failure = SQLiteFailure(status)
            sqlite3_close_v2(handle)
            throw failure
        }
        self.handle = handle
        _ = CSQLite_setDefensive(handle)
        // SQLite's own busy timeout waits in steps of up to 100 ms; a commit here takes less than one.
        sqlite3_busy_handler(handle, { _, attempt in SQLiteConnection.waitForLock(attempt: attempt) }, nil)
    }

    deinit {
        for statement in self.statements.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(self.handle)
    }

    /// Sleeps before another attempt at a lock, 0.1 ms at first and up to 5 ms; 0 when ten seconds are over.
    private static func waitForLock(attempt: Int32) -> Int32 {
        guard attempt < 2_000 else { return 0 }
        usleep(attempt < 6 ? 100 << UInt32(attempt) : 5_000)
        return 1
    }

    /// Repeats what SQLite refuses at once when others have the file locked.
    func repeatingWhileBusy(_ body: () throws -> Void) throws {
        var attempt: Int32 = 0
        while true {
            do {
                return try body()
            } catch let failure as SQLiteFailure where failure.code == .storeBusy {
                guard Self.waitForLock(attempt: attempt) != 0 else { throw failure }
                attempt += 1
            }
        }
    }

    /// Runs a statement for its effect.
    func run(_ sql: String, _ values: Value...) throws(SQLiteFailure) {
        _ = try self.rows(sql, values) { _ in }
    }

    /// The first row of a query, or `nil`.
    func firstRow<Element>(
        _ sql: String,
        _ values: Value...,
        read: (borrowing Row) -> Element
    ) throws(SQLiteFailure) -> Element? {
        try self.rows(sql, values, read: read).first
    }

    /// All rows of a query.
    func rows<Element>(
        _ sql: String,
        _ values: [Value] = [],
        read: (borrowing Row) -> Element
    ) throws(SQLiteFailure) -> [Element] {
        let statement = try self.prepared(sql)
        self.statementCount += 1
        // Also lets go of the read lock. Repeats the error that `step` has reported already.
        defer { sqlite3_reset(statement) }
        for (index, value) in values.enumerated() {
            try self.check(Self.bind(value, to: statement, at: Int32(index + 1)))
        }
        var elements: [Element] = []
        errno = 0  // so that a failure finds no older one's
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: elements.append(read(Row(statement: statement)))
            case SQLITE_DONE: return elements
            case let status: throw SQLiteFailure(status)
            }
        }
    }

    /// Runs `body` as one transaction that holds the write lock from its first read to its end.
    ///
    /// When `body` throws, or the commit fails, nothing was written.
    func write<Result>(_ body: () throws -> Result) throws -> Result {
        try self.run("BEGIN IMMEDIATE")
        do {
            let result = try body()
            try self.run("COMMIT")
            return result
        } catch {
            if self.isInTransaction { try? self.run("ROLLBACK") }
            throw error
        }
    }

    /// Runs `body` as a part of a transaction that is undone alone when it throws.
    func nested<Result>(_ body: () throws -> Result) throws -> Result {
        try self.run("SAVEPOINT part")
        do {
            let result = try body()
            try self.run("RELEASE part")
            return result
        } catch {
            if self.isInTransaction {
                try self.run("ROLLBACK TO part")
                try self.run("RELEASE part")
            }
            throw error
        }
    }

    /// Whether a transaction is under way. SQLite ends one by itself after some failures.
    var isInTransaction: Bool { sqlite3_get_autocommit(self.handle) == 0 }

    private func prepared(_ sql: String) throws(SQLiteFailure) -> OpaquePointer {
        if let statement = self.statements[sql] { return statement }
        var statement: OpaquePointer?
        try self.check(sqlite3_prepare_v3(self.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil))
        guard let statement else { throw SQLiteFailure(SQLITE_MISUSE) }
        self.statements[sql] = statement
        return statement
    }

    private static func bind(_ value: Value, to statement: OpaquePointer, at index: Int32) -> Int32 {
        switch value {
        case .integer(let integer):
            sqlite3_bind_int64(statement, index, integer)
        case .text(let text):
            Self.bind(text, to: statement, at: index)
        case .blob(let bytes):
            // A null pointer would bind NULL, so an empty array needs another way.
            bytes.isEmpty
                ? sqlite3_bind_zeroblob(statement, index, 0)
                : sqlite3_bind_blob64(statement, index, bytes, UInt64(bytes.count), CSQLite_TRANSIENT())
        }
    }

    /// Binds a string with its length, since a NUL within it would otherwise be taken for its end.
    private static func bind(_ text: String, to statement: OpaquePointer, at index: Int32) -> Int32 {
        var text = text
        return text.withUTF8 { bytes in
            // A null pointer would bind NULL, so an empty string needs another one.
            guard let address = bytes.baseAddress else {
                return sqlite3_bind_text(statement, index, "", 0, CSQLite_TRANSIENT())
            }
            return address.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
                sqlite3_bind_text64(
                    statement,
                    index,
                    $0,
                    UInt64(bytes.count),
                    CSQLite_TRANSIENT(),
                    UInt8(SQLITE_UTF8)
                )
            }
        }
    }

    private func check(_ status: Int32) throws(SQLiteFailure) {
        guard status == SQLITE_OK else { throw SQLiteFailure(status) }
    }

    /// The row a query stands at. Copies what is read from it.
    struct Row: ~Copyable {
        fileprivate let statement: OpaquePointer

        func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(self.statement, column) }

        func text(_ column: Int32) -> String {
            guard let text = sqlite3_column_text(self.statement, column) else { return "" }
            let count = Int(sqlite3_column_bytes(self.statement, column))
            return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
        }

        func blob(_ column: Int32) -> [UInt8] {
            guard let bytes = sqlite3_column_blob(self.statement, column) else { return [] }
            return Array(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(self.statement, column))))
        }
    }
}
