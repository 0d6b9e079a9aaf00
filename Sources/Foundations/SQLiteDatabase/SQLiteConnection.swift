import CSQLite
import Glibc

/// A connection to an SQLite database, with its prepared statements.
///
/// ```swift
/// let connection = try SQLiteConnection(path: path, access: .create(permissions: 0o600))
/// try connection.useWriteAheadLog()
/// try connection.transaction {
///     try connection.run("INSERT INTO receipt (id, body) VALUES (?, ?)", [.text(id), .blob(body)])
/// }
/// let bodies = try connection.rows("SELECT body FROM receipt") { $0.blob(0) }
/// ```
///
/// Calls block on files and other processes. A connection has no locks of its own, so only one thread at a time may use it, such
/// as an actor's own queue.
package final class SQLiteConnection {
    package enum Access: Sendable, Equatable {
        case readOnly
        /// The file must exist.
        case readWrite
        /// Creates a missing file with these permissions, whatever the process's umask. SQLite's additional files get the same.
        case create(permissions: UInt32)
    }

    private let handle: OpaquePointer
    private let lockWait: LockWait
    private var statements: [String: OpaquePointer] = [:]
    /// The number of statements run, for tests and statistics.
    package private(set) var statementCount = 0

    /// Opens a database.
    ///
    /// - Parameters:
    ///   - path: The file. A relative path is resolved now.
    ///   - access: The allowed use of the file.
    ///   - lockTimeout: The approximate wait for another connection's lock. Zero fails at once.
    ///   - vfs: The name of a registered SQLite VFS; `nil` for the default.
    /// - Throws: ``SQLiteError``. A file that is not a database is detected at the first read.
    package init(
        path: String,
        access: Access = .readWrite,
        lockTimeout: Duration = .seconds(10),
        vfs: String? = nil
    ) throws(SQLiteError) {
        if case .create(let permissions) = access { try DatabaseFile.create(path, permissions: permissions) }
        var handle: OpaquePointer?
        let flags = (access == .readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE)
        errno = 0
        let status = sqlite3_open_v2(path, &handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, vfs)
        guard status == SQLITE_OK, let handle else {
            let failure = SQLiteError(status)
            sqlite3_close_v2(handle)
            throw failure
        }
        self.handle = handle
        self.lockWait = LockWait(timeout: lockTimeout)
        _ = CSQLite_setDefensive(handle)
        self.lockWait.install(on: handle)
    }

    deinit {
        for statement in self.statements.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(self.handle)
    }

    // MARK: Statements

    /// Runs a statement for its effect. Statements are prepared once per string and kept, so pass variable data as values.
    ///
    /// - Parameter values: Bound to the statement's parameters in order.
    package func run(_ sql: String, _ values: [SQLiteValue] = []) throws(SQLiteError) {
        let statement = try self.bound(sql, values)
        defer { Self.reset(statement) }
        while try self.step(statement) {}
    }

    /// Changes a setting of the connection. SQLite executes such statements while preparing them, so they are not kept.
    ///
    /// - Parameter pragma: The setting, such as `synchronous = FULL`.
    package func set(_ pragma: String) throws(SQLiteError) {
        try Self.check(sqlite3_exec(self.handle, "PRAGMA " + pragma, nil, nil, nil))
    }

    /// Returns the first row of a query, or `nil`.
    package func firstRow<Element>(
        _ sql: String,
        _ values: [SQLiteValue] = [],
        read: (borrowing SQLiteRow) throws -> Element
    ) throws -> Element? {
        let statement = try self.bound(sql, values)
        defer { Self.reset(statement) }
        return try self.step(statement) ? try read(SQLiteRow(statement: statement)) : nil
    }

    /// Returns the result of `read` for each row.
    package func rows<Element>(
        _ sql: String,
        _ values: [SQLiteValue] = [],
        read: (borrowing SQLiteRow) throws -> Element
    ) throws -> [Element] {
        let statement = try self.bound(sql, values)
        defer { Self.reset(statement) }
        var elements: [Element] = []
        while try self.step(statement) { elements.append(try read(SQLiteRow(statement: statement))) }
        return elements
    }

    /// The number of rows inserted, changed and deleted by the connection.
    package var changedRowCount: Int { Int(sqlite3_total_changes64(self.handle)) }

    /// The number of the row that was inserted last, in a table with such numbers and by no trigger.
    package var lastRowID: Int64 { sqlite3_last_insert_rowid(self.handle) }

    // MARK: Transactions

    /// Runs `body` as a transaction that holds the write lock from the start.
    ///
    /// - Throws: The error of `body`, or the failure of the commit. Nothing was written then.
    package func transaction<Result>(_ body: () throws -> Result) throws -> Result {
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

    /// Indicates whether a transaction is active. SQLite ends one itself after some failures.
    package var isInTransaction: Bool { sqlite3_get_autocommit(self.handle) == 0 }

    // MARK: The log

    /// Switches the database to write-ahead logging, so that readers and the writer do not wait for each other.
    package func useWriteAheadLog() throws(SQLiteError) {
        // The switch briefly needs exclusive access, for which SQLite does not wait.
        try self.lockWait.retrying { () throws(SQLiteError) in try self.run("PRAGMA journal_mode = WAL") }
    }

    /// Moves the log's content into the database, where deleted bytes can be overwritten, and truncates the log. Does less if
    /// other connections are reading or the disk is full; the next checkpoint catches up.
    package func emptyLog() {
        try? self.run("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    /// Writes a consistent copy of the database, in use by others, to an empty or missing file. The copy is not synchronized to
    /// disk.
    package func copy(to path: String) throws(SQLiteError) {
        try self.run("VACUUM INTO ?", [.text(path)])
    }

    /// Reads the whole database, and returns whether it is intact.
    package func isIntact() throws -> Bool {
        try self.firstRow("PRAGMA integrity_check(1)") { $0.text(0) } == "ok"
    }

    // MARK: For tests

    /// Returns the query plans of the prepared statements, except those with missing tables.
    package func plans() throws(SQLiteError) -> [String: [String]] {
        var plans: [String: [String]] = [:]
        for sql in self.statements.keys where !sql.hasPrefix(Self.explain) {
            guard let statement = try? self.prepared(Self.explain + sql) else { continue }
            defer { Self.reset(statement) }
            while try self.step(statement) { plans[sql, default: []].append(SQLiteRow(statement: statement).text(3)) }
        }
        return plans
    }

    private static let explain = "EXPLAIN QUERY PLAN "

    // MARK: -

    private func bound(_ sql: String, _ values: [SQLiteValue]) throws(SQLiteError) -> OpaquePointer {
        let statement = try self.prepared(sql)
        self.statementCount += 1
        // SQLite refuses an extra value, but binds a missing one as NULL.
        guard values.count == sqlite3_bind_parameter_count(statement) else { throw SQLiteError(SQLITE_RANGE) }
        for (index, value) in values.enumerated() {
            try Self.check(value.bind(to: statement, at: Int32(index + 1)))
        }
        errno = 0  // so that a failure finds no older one's
        return statement
    }

    private func prepared(_ sql: String) throws(SQLiteError) -> OpaquePointer {
        if let statement = self.statements[sql] { return statement }
        var statement: OpaquePointer?
        try Self.check(sqlite3_prepare_v3(self.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil))
        guard let statement else { throw SQLiteError(SQLITE_MISUSE) }
        self.statements[sql] = statement
        return statement
    }

    private func step(_ statement: OpaquePointer) throws(SQLiteError) -> Bool {
        switch sqlite3_step(statement) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let status: throw SQLiteError(status)
        }
    }

    /// Releases the read lock, and the values, which may be large.
    private static func reset(_ statement: OpaquePointer) {
        sqlite3_reset(statement)  // repeats the error that `step` has reported already
        sqlite3_clear_bindings(statement)
    }

    private static func check(_ status: Int32) throws(SQLiteError) {
        guard status == SQLITE_OK else { throw SQLiteError(status) }
    }
}
