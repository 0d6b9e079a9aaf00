internal import CSQLite
internal import Dispatch
internal import Foundation

/// The SQLite file that keeps the state over a restart: what a reset goes back to, and what is.
///
/// Both are whole documents, replaced in one transaction, so that the file always holds one state, whatever happens
/// while it is written.
actor DataFile {
    struct Documents: Sendable {
        var initial: [UInt8]
        var current: [UInt8]
    }

    private let database: Database
    private var durableVersion: UInt64 = 0
    private var writing: Task<Void, any Error>?

    /// Opens or makes the file, and keeps other servers from it.
    init(path: String) throws(EmulatorError) {
        self.database = try Database(path: path)
    }

    /// What was last written, or `nil` when nothing was.
    nonisolated func read() throws(EmulatorError) -> Documents? {
        guard
            let initial = try self.database.document(named: "initial"),
            let current = try self.database.document(named: "current")
        else { return nil }
        return Documents(initial: initial, current: current)
    }

    /// Returns when the state is durable as it was at `version`, or later.
    ///
    /// Requests that are answered while the file is written share the next write.
    func persist(
        version: UInt64,
        latest: @escaping @Sendable () async throws -> (version: UInt64, documents: Documents)
    ) async throws {
        while self.durableVersion < version {
            if let writing = self.writing {
                _ = await writing.result  // perhaps of a state before `version`; a failure is its own caller's affair
                continue
            }
            let writing = Task {
                // Before the task ends, so that whoever waited for it never finds it still there.
                defer { self.writing = nil }
                let (version, documents) = try await latest()
                try await self.database.write(documents)
                self.durableVersion = version
            }
            self.writing = writing
            try await writing.value
        }
    }
}

/// One connection, used on one queue.
private final class Database: Sendable {
    private struct Statement: ~Copyable {
        let pointer: OpaquePointer
        deinit { sqlite3_finalize(self.pointer) }
    }

    private let queue = DispatchQueue(label: "mobile-token-emulator.data-file")
    // Set once, in `init`, and used on `queue` alone until `deinit`, when nobody else is left.
    private nonisolated(unsafe) let handle: OpaquePointer

    init(path: String) throws(EmulatorError) {
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        let result = sqlite3_open_v2(path, &handle, flags, nil)
        guard result == SQLITE_OK, let handle else {
            sqlite3_close_v2(handle)
            throw EmulatorError(.storage, "The data file cannot be opened: \(String(cString: sqlite3_errstr(result)))")
        }
        self.handle = handle
        let setup = """
            PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
            CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, document BLOB NOT NULL) STRICT;
            BEGIN IMMEDIATE; COMMIT;
            """
        guard sqlite3_exec(handle, setup, nil, nil, nil) == SQLITE_OK else {
            // `deinit` runs, for all properties are set.
            throw EmulatorError(.storage, "The data file cannot be used: \(String(cString: sqlite3_errmsg(handle)))")
        }
    }

    deinit { sqlite3_close_v2(self.handle) }

    func document(named name: String) throws(EmulatorError) -> [UInt8]? {
        let document: Result<[UInt8]?, EmulatorError> = self.queue.sync {
            Result { () throws(EmulatorError) in
                let statement = try self.prepare("SELECT document FROM state WHERE name = ?1")
                try self.bind(name, to: 1, of: statement)
                switch sqlite3_step(statement.pointer) {
                case SQLITE_DONE: return nil
                case SQLITE_ROW:
                    let count = Int(sqlite3_column_bytes(statement.pointer, 0))
                    return Array(UnsafeRawBufferPointer(start: sqlite3_column_blob(statement.pointer, 0), count: count))
                default: throw self.failure()
                }
            }
        }
        return try document.get()
    }

    /// Both documents, in one transaction.
    func write(_ documents: DataFile.Documents) async throws {
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            // Waits for the disk, which the cooperative pool must not do.
            self.queue.async { done.resume(with: Result { try self.replace(with: documents) }) }
        }
    }

    private func replace(with documents: DataFile.Documents) throws(EmulatorError) {
        let statement = try self.prepare(
            "INSERT OR REPLACE INTO state VALUES ('initial', ?1), ('current', ?2)"
        )
        try self.bind(documents.initial, to: 1, of: statement)
        try self.bind(documents.current, to: 2, of: statement)
        guard sqlite3_step(statement.pointer) == SQLITE_DONE else { throw self.failure() }
    }

    private func prepare(_ sql: String) throws(EmulatorError) -> Statement {
        var pointer: OpaquePointer?
        guard sqlite3_prepare_v2(self.handle, sql, -1, &pointer, nil) == SQLITE_OK, let pointer else {
            throw self.failure()
        }
        return Statement(pointer: pointer)
    }

    // `SQLITE_TRANSIENT`, whose cast Swift does not import: SQLite copies the value.
    private static var copied: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    private func bind(_ text: String, to index: Int32, of statement: borrowing Statement) throws(EmulatorError) {
        guard sqlite3_bind_text(statement.pointer, index, text, -1, Self.copied) == SQLITE_OK else {
            throw self.failure()
        }
    }

    private func bind(_ bytes: [UInt8], to index: Int32, of statement: borrowing Statement) throws(EmulatorError) {
        let result = bytes.withUnsafeBytes {
            sqlite3_bind_blob64(statement.pointer, index, $0.baseAddress, UInt64($0.count), Self.copied)
        }
        guard result == SQLITE_OK else { throw self.failure() }
    }

    private func failure() -> EmulatorError {
        EmulatorError(.storage, "The data file failed: \(String(cString: sqlite3_errmsg(self.handle)))")
    }
}
