import Coordination
import EmulatorBackend
import SQLiteDatabase

/// The SQLite file that keeps the state over a restart: the reset state and the current state.
///
/// The reset state is one document. The current state has a row for each object, so a change costs only its own size. Each write
/// is one transaction: the file always holds a consistent state.
actor DataFile {
    struct Saved: Sendable {
        /// An exported document.
        var initial: [UInt8]
        var current: [StateRecord]
    }

    struct Changes: Sendable {
        /// If set, replaces everything else in the file.
        var initial: [UInt8]?
        /// The changed objects; nil for removed ones.
        var records: [StateKey: StateRecord?] = [:]
    }

    struct Statistics: Sendable, Equatable {
        var transactions = 0
        /// The number of added, replaced and removed rows.
        var rows = 0
        /// The number of bytes in documents.
        var bytes = 0
    }

    /// The queue for disk writes, which must not block the cooperative pool.
    private nonisolated let executor = QueueExecutor(label: "mobile-token-emulator.data-file")
    nonisolated var unownedExecutor: UnownedSerialExecutor { self.executor.asUnownedSerialExecutor() }

    let connection: SQLiteConnection
    private(set) var statistics = Statistics()

    /// Opens or creates the file, and locks out other servers and other users.
    ///
    /// - Returns: The file, and its last written state, if any.
    static func open(path: String) throws(EmulatorError) -> (file: DataFile, saved: Saved?) {
        let connection = try Self.connect(path)
        let saved = try Self.saved(connection)
        return (DataFile(connection), saved)
    }

    private init(_ connection: sending SQLiteConnection) { self.connection = connection }

    private static func connect(_ path: String) throws(EmulatorError) -> SQLiteConnection {
        // SQLite gives its auxiliary files the database's mode.
        try ServerFile.prepare(path)
        for suffix in ["-wal", "-shm", "-journal"] { try ServerFile.restrict(path + suffix) }
        do {
            let connection = try SQLiteConnection(path: path, lockTimeout: .zero)
            try connection.run("PRAGMA locking_mode = EXCLUSIVE")
            try connection.useWriteAheadLog()
            try connection.run("PRAGMA synchronous = FULL")
            for table in Self.tables { try connection.run(table) }
            try connection.transaction {}  // takes the lock, which is kept
            return connection
        } catch let error as SQLiteError where error.kind == .busy {
            throw EmulatorError(.storage, "Another server uses the data file")
        } catch {
            throw EmulatorError(.storage, "The data file cannot be used: \(error)")
        }
    }

    private static let tables = [
        "CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, document BLOB NOT NULL) STRICT",
        """
        CREATE TABLE IF NOT EXISTS object (
            kind TEXT NOT NULL, id BLOB NOT NULL, number INTEGER NOT NULL, document BLOB NOT NULL,
            PRIMARY KEY (kind, id)
        ) STRICT, WITHOUT ROWID
        """,
    ]

    // MARK: Reading

    /// Returns the last written state, or `nil` if there is none.
    func saved() throws(EmulatorError) -> Saved? { try Self.saved(self.connection) }

    private static func saved(_ connection: SQLiteConnection) throws(EmulatorError) -> Saved? {
        try Self.mappingErrors {
            let initial = try connection.firstRow("SELECT document FROM state WHERE name = 'initial'") { $0.blob(0) }
            return try initial.map { Saved(initial: $0, current: try Self.records(connection)) }
        }
    }

    private static func records(_ connection: SQLiteConnection) throws -> [StateRecord] {
        try connection.rows("SELECT kind, id, number, document FROM object") { row in
            guard let kind = StateKey.Kind(rawValue: row.text(0)) else {
                throw EmulatorError(.storage, "The data file was written by a newer version")
            }
            let id = String(decoding: row.blob(1), as: UTF8.self)
            return StateRecord(
                key: StateKey(kind: kind, id: id),
                number: Int(row.integer(2)),
                document: row.blob(3)
            )
        }
    }

    // MARK: Writing

    /// Writes changes in one transaction; they are durable when this returns.
    func write(_ changes: Changes) throws(EmulatorError) {
        try Self.mappingErrors {
            let rowsBefore = self.connection.changedRowCount
            self.statistics.bytes += try self.connection.transaction { try self.apply(changes) }
            self.statistics.rows += self.connection.changedRowCount - rowsBefore
            self.statistics.transactions += 1
        }
    }

    /// - Returns: The number of bytes of the written documents.
    private func apply(_ changes: Changes) throws -> Int {
        var bytes = 0
        if let initial = changes.initial {
            try self.connection.run("DELETE FROM object")
            try self.connection.run("DELETE FROM state")
            try self.connection.run("INSERT INTO state VALUES ('initial', ?)", [.blob(initial)])
            bytes += initial.count
        }
        for (key, record) in changes.records {
            // The identifier is stored as bytes, because external ones may hold anything.
            let key: [SQLiteValue] = [.text(key.kind.rawValue), .blob(Array(key.id.utf8))]
            if let record {
                let values = key + [.integer(Int64(record.number)), .blob(record.document)]
                try self.connection.run("INSERT OR REPLACE INTO object VALUES (?, ?, ?, ?)", values)
                bytes += record.document.count
            } else {
                try self.connection.run("DELETE FROM object WHERE kind = ? AND id = ?", key)
            }
        }
        return bytes
    }

    private static func mappingErrors<Result>(_ body: () throws -> Result) throws(EmulatorError) -> Result {
        do {
            return try body()
        } catch let error as EmulatorError {
            throw error
        } catch {
            throw EmulatorError(.storage, "The data file failed: \(error)")
        }
    }
}
