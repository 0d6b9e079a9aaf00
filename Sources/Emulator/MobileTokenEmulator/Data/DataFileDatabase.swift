import EmulatorBackend
import SQLiteDatabase

/// The tables of the data file.
final class DataFileDatabase {
    let connection: SQLiteConnection

    /// Opens or creates the file, and locks out other servers and other users.
    init(path: String) throws(EmulatorError) {
        // SQLite gives its auxiliary files the database's mode.
        try ServerFile.prepare(path)
        for suffix in ["-wal", "-shm", "-journal"] { try ServerFile.restrict(path + suffix) }
        do {
            self.connection = try SQLiteConnection(path: path, lockTimeout: .zero)
            try self.connection.run("PRAGMA locking_mode = EXCLUSIVE")
            try self.connection.useWriteAheadLog()
            try self.connection.run("PRAGMA synchronous = FULL")
            for table in Self.tables { try self.connection.run(table) }
            try self.connection.transaction {}  // takes the lock, which is kept
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
    func saved() throws(EmulatorError) -> DataFile.Saved? {
        try Self.mappingErrors {
            guard let initial = try self.document(named: "initial") else { return nil }
            return DataFile.Saved(initial: initial, current: try self.records())
        }
    }

    private func document(named name: String) throws -> [UInt8]? {
        try self.connection.firstRow("SELECT document FROM state WHERE name = ?", [.text(name)]) { $0.blob(0) }
    }

    private func records() throws -> [StateRecord] {
        try self.connection.rows("SELECT kind, id, number, document FROM object") { row in
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

    /// Makes all changes in one transaction, or none.
    func write(_ changes: DataFile.Changes) throws(EmulatorError) -> (rows: Int, bytes: Int) {
        try Self.mappingErrors {
            let rowsBefore = self.connection.changedRowCount
            let bytes = try self.connection.transaction { try self.apply(changes) }
            return (self.connection.changedRowCount - rowsBefore, bytes)
        }
    }

    /// - Returns: The number of bytes of the written documents.
    private func apply(_ changes: DataFile.Changes) throws -> Int {
        var bytes = 0
        if let initial = changes.initial {
            try self.connection.run("DELETE FROM object")
            try self.connection.run("DELETE FROM state")
            try self.insertDocument(initial, named: "initial")
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

    private func insertDocument(_ document: [UInt8], named name: String) throws {
        try self.connection.run("INSERT OR REPLACE INTO state VALUES (?, ?)", [.text(name), .blob(document)])
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
