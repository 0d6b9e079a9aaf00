import CSQLite
import Dispatch
import EmulatorBackend

/// The data file's one connection, used on one queue.
final class DataFileDatabase: Sendable {
    private struct Statement: ~Copyable {
        let pointer: OpaquePointer
        deinit { sqlite3_finalize(self.pointer) }
    }

    private let queue = DispatchQueue(label: "mobile-token-emulator.data-file")
    // Set once, in `init`, and used on `queue` alone until `deinit`, when nobody else is left.
    private nonisolated(unsafe) let handle: OpaquePointer

    init(path: String) throws(EmulatorError) {
        // SQLite gives the files that it puts beside the database the database's mode.
        try PrivateFile.prepare(path)
        for suffix in ["-wal", "-shm", "-journal"] { try PrivateFile.restrict(path + suffix) }
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX
        let result = sqlite3_open_v2(path, &handle, flags, nil)
        guard result == SQLITE_OK, let handle else {
            sqlite3_close_v2(handle)
            throw EmulatorError(.storage, "The data file cannot be opened: \(String(cString: sqlite3_errstr(result)))")
        }
        self.handle = handle
        let setup = """
            PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
            CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, document BLOB NOT NULL) STRICT;
            CREATE TABLE IF NOT EXISTS object (
                kind TEXT NOT NULL, id BLOB NOT NULL, number INTEGER NOT NULL, document BLOB NOT NULL,
                PRIMARY KEY (kind, id)
            ) STRICT, WITHOUT ROWID;
            BEGIN IMMEDIATE; COMMIT;
            """
        guard sqlite3_exec(handle, setup, nil, nil, nil) == SQLITE_OK else {
            // `deinit` runs, for all properties are set.
            throw EmulatorError(.storage, "The data file cannot be used: \(String(cString: sqlite3_errmsg(handle)))")
        }
    }

    deinit { sqlite3_close_v2(self.handle) }

    // MARK: Reading

    func document(named name: String) throws(EmulatorError) -> [UInt8]? {
        try self.onQueue { () throws(EmulatorError) in
            let statement = try self.prepare("SELECT document FROM state WHERE name = ?1")
            try self.bind(name, to: 1, of: statement)
            return try self.step(statement) ? Self.bytes(0, of: statement) : nil
        }
    }

    func records() throws(EmulatorError) -> [StateRecord] {
        try self.onQueue { () throws(EmulatorError) in
            let statement = try self.prepare("SELECT kind, id, number, document FROM object")
            var records: [StateRecord] = []
            while try self.step(statement) {
                let kind = String(decoding: Self.bytes(0, of: statement), as: UTF8.self)
                guard let kind = StateKey.Kind(rawValue: kind) else {
                    throw EmulatorError(.storage, "The data file was written by a newer version")
                }
                let id = String(decoding: Self.bytes(1, of: statement), as: UTF8.self)
                records.append(
                    StateRecord(
                        key: StateKey(kind: kind, id: id),
                        number: Int(sqlite3_column_int64(statement.pointer, 2)),
                        document: Self.bytes(3, of: statement)
                    )
                )
            }
            return records
        }
    }

    // MARK: Writing

    /// All changes in one transaction, or none.
    func write(_ changes: DataFile.Changes) async throws -> (rows: Int, bytes: Int) {
        try await withCheckedThrowingContinuation { done in
            // Waits for the disk, which the cooperative pool must not do.
            self.queue.async { done.resume(with: Result { try self.transact(changes) }) }
        }
    }

    private func transact(_ changes: DataFile.Changes) throws(EmulatorError) -> (rows: Int, bytes: Int) {
        let rowsBefore = sqlite3_total_changes64(self.handle)
        try self.execute("BEGIN IMMEDIATE")
        do {
            let bytes = try self.apply(changes)
            try self.execute("COMMIT")
            return (Int(sqlite3_total_changes64(self.handle) - rowsBefore), bytes)
        } catch {
            sqlite3_exec(self.handle, "ROLLBACK", nil, nil, nil)  // when it fails, there is nothing to undo any more
            throw error
        }
    }

    private func apply(_ changes: DataFile.Changes) throws(EmulatorError) -> Int {
        var bytes = 0
        if let initial = changes.initial {
            try self.execute("DELETE FROM object; DELETE FROM state")
            try self.insertDocument(initial, named: "initial")
            bytes += initial.count
        }
        let insertion = try self.prepare("INSERT OR REPLACE INTO object VALUES (?1, ?2, ?3, ?4)")
        let deletion = try self.prepare("DELETE FROM object WHERE kind = ?1 AND id = ?2")
        for (key, record) in changes.records {
            if let record {
                try self.bind(record.key, of: insertion)
                guard sqlite3_bind_int64(insertion.pointer, 3, Int64(record.number)) == SQLITE_OK else {
                    throw self.failure()
                }
                try self.bind(record.document, to: 4, of: insertion)
                try self.run(insertion)
                bytes += record.document.count
            } else {
                try self.bind(key, of: deletion)
                try self.run(deletion)
            }
        }
        return bytes
    }

    /// Outside of tests, called within a transaction.
    func insertDocument(_ document: [UInt8], named name: String) throws(EmulatorError) {
        let statement = try self.prepare("INSERT OR REPLACE INTO state VALUES (?1, ?2)")
        try self.bind(name, to: 1, of: statement)
        try self.bind(document, to: 2, of: statement)
        try self.run(statement)
    }

    // MARK: SQLite

    private func onQueue<Result>(
        _ body: () throws(EmulatorError) -> Result
    ) throws(EmulatorError) -> Result {
        let result: Swift.Result<Result, EmulatorError> = self.queue.sync {
            Swift.Result { () throws(EmulatorError) in try body() }
        }
        return try result.get()
    }

    private func execute(_ sql: String) throws(EmulatorError) {
        guard sqlite3_exec(self.handle, sql, nil, nil, nil) == SQLITE_OK else { throw self.failure() }
    }

    private func prepare(_ sql: String) throws(EmulatorError) -> Statement {
        var pointer: OpaquePointer?
        guard sqlite3_prepare_v2(self.handle, sql, -1, &pointer, nil) == SQLITE_OK, let pointer else {
            throw self.failure()
        }
        return Statement(pointer: pointer)
    }

    /// - Returns: Whether there is a row.
    private func step(_ statement: borrowing Statement) throws(EmulatorError) -> Bool {
        switch sqlite3_step(statement.pointer) {
        case SQLITE_DONE: return false
        case SQLITE_ROW: return true
        default: throw self.failure()
        }
    }

    /// Carries out a statement without rows, and makes it ready for the next values.
    private func run(_ statement: borrowing Statement) throws(EmulatorError) {
        defer { sqlite3_reset(statement.pointer) }
        guard sqlite3_step(statement.pointer) == SQLITE_DONE else { throw self.failure() }
    }

    private static func bytes(_ column: Int32, of statement: borrowing Statement) -> [UInt8] {
        let bytes = sqlite3_column_blob(statement.pointer, column)
        return Array(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(statement.pointer, column))))
    }

    // `SQLITE_TRANSIENT`, whose cast Swift does not import: SQLite copies the value.
    private static var copied: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    /// The kind as the first value, the identifier as the second.
    private func bind(_ key: StateKey, of statement: borrowing Statement) throws(EmulatorError) {
        try self.bind(key.kind.rawValue, to: 1, of: statement)
        try self.bind(Array(key.id.utf8), to: 2, of: statement)
    }

    private func bind(_ text: String, to index: Int32, of statement: borrowing Statement) throws(EmulatorError) {
        guard sqlite3_bind_text(statement.pointer, index, text, -1, Self.copied) == SQLITE_OK else {
            throw self.failure()
        }
    }

    private func bind(_ bytes: [UInt8], to index: Int32, of statement: borrowing Statement) throws(EmulatorError) {
        // No bytes are an empty value, not none: an address makes the difference.
        let result = (bytes.isEmpty ? [0] : bytes).withUnsafeBytes {
            sqlite3_bind_blob64(statement.pointer, index, $0.baseAddress, UInt64(bytes.count), Self.copied)
        }
        guard result == SQLITE_OK else { throw self.failure() }
    }

    private func failure() -> EmulatorError {
        EmulatorError(.storage, "The data file failed: \(String(cString: sqlite3_errmsg(self.handle)))")
    }
}
