import Basics
import Coordination
import Glibc
import PowerAuthClient
import PowerAuthCrypto
import SQLiteDatabase

/// Keeps questions in an SQLite file, with a mark beside it that detects a rollback.
///
/// Every commit increments a generation in the file, and then the mark. If the file's generation is behind the mark, the file was
/// restored; if the mark is missing or belongs to another file, it was copied.
package actor SQLiteLedger: LedgerDriver {
    private struct Open {
        let connection: SQLiteConnection
        let lock: LockFile
        var incarnation: [UInt8]
    }

    private static let schema = SQLiteSchema(
        // "PALd"
        applicationID: 0x5041_4C64,
        migrations: [
            [
                "CREATE TABLE setting (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID",
                // Incremented by every commit.
                "CREATE TABLE generation (id INTEGER PRIMARY KEY CHECK (id = 1), value INTEGER NOT NULL) STRICT",
                "INSERT INTO generation VALUES (1, 0)",
                """
                CREATE TABLE question (
                    key BLOB PRIMARY KEY,
                    state TEXT NOT NULL,
                    incarnation BLOB NOT NULL,
                    tag INTEGER NOT NULL,
                    needs_attention INTEGER NOT NULL,
                    asked INTEGER NOT NULL,
                    content BLOB NOT NULL
                ) STRICT
                """,
                "CREATE INDEX question_attention ON question (key) WHERE needs_attention = 1",
                "CREATE INDEX question_state ON question (state, key)",
                // The people that each question asks, by digest.
                """
                CREATE TABLE asked (
                    person BLOB NOT NULL,
                    at INTEGER NOT NULL,
                    key BLOB NOT NULL,
                    PRIMARY KEY (person, at, key)
                ) STRICT, WITHOUT ROWID
                """,
            ],
            // Questions with begun actions, separate from their rows: a restored row cannot begin its action again.
            ["CREATE TABLE begun (key BLOB PRIMARY KEY) STRICT, WITHOUT ROWID"],
        ]
    )

    private static let markSlot: Int64 = 1
    /// The offset of the claims' locks, far beyond the marks.
    private static let firstLease: Int64 = 1 << 40
    private static let openingLock: Int64 = 1 << 39
    static let markLock: Int64 = (1 << 39) + 1

    package nonisolated var unownedExecutor: UnownedSerialExecutor { self.executor.asUnownedSerialExecutor() }

    private let files: StoreFiles
    private let executor = QueueExecutor(label: "approval-ledger")
    private var state: Open?
    private var isClosed = false
    private var held: Set<Int64> = []
    private let writes = GroupCommit<Write, Void>()

    init(_ files: StoreFiles) { self.files = files }

    // MARK: Opening

    package func open(audience: [UInt8]) async throws -> LedgerFacts {
        try await self.retrying {
            let open = try self.connected()
            // One process at a time: if two began an epoch, each would see the other's ledger as rolled back.
            try self.lock(Self.openingLock, open.lock)
            defer { open.lock.unlock(Self.openingLock) }
            let opened = try self.recognized(open, audience: audience)
            self.state = opened
            return try self.facts(opened)
        }
    }

    private func recognized(_ connected: Open, audience: [UInt8]) throws -> Open {
        var open = connected
        guard let incarnation = try self.setting("incarnation", open.connection), try !self.isUnused(open.connection)
        else {
            // A mark without its file: the file was removed.
            guard try self.markIsEmpty() else { throw self.wentBack("it is empty, and its mark is not") }
            return try self.begin(open, audience: audience)
        }
        open.incarnation = incarnation
        if let objection = try self.objection(open) { throw self.wentBack(objection) }
        guard try self.setting("audience", open.connection) == audience else { throw ApprovalError.otherAudience }
        return open
    }

    /// Another process holds the lock.
    private struct Locked: Error {}

    private func lock(_ place: Int64, _ file: LockFile) throws {
        guard try file.tryLock(place) else { throw Locked() }
    }

    /// Repeats what needs a lock that other processes hold briefly. Meanwhile others read, and a canceled task gives up.
    private func retrying<Answer>(_ attempt: () async throws -> Answer) async throws -> Answer {
        for _ in 0..<2_000 {
            do { return try await attempt() } catch is Locked { try await Task.sleep(for: .milliseconds(5)) }
        }
        throw ApprovalError(.ledgerFailed, "Another process holds a lock of the ledger, and does not come to an end")
    }

    package func setKey(check: [UInt8]) async throws -> LedgerFacts {
        try await self.write { connection in
            try connection.run("INSERT OR IGNORE INTO setting (name, value) VALUES ('key', ?)", [.blob(check)])
        }
        return try self.facts(try self.opened())
    }

    package func adopt(audience: [UInt8]) async throws {
        try await self.retrying {
            let open = try self.connected()
            try self.lock(Self.openingLock, open.lock)
            defer { open.lock.unlock(Self.openingLock) }
            if let known = try self.setting("audience", open.connection), known != audience {
                throw ApprovalError.otherAudience
            }
            _ = try self.begin(open, audience: audience)
            // Connections opened before belong to the earlier epoch.
            self.state = nil
        }
    }

    package func close() {
        self.writes.commitAll(by: self.commit)
        self.state = nil
        self.isClosed = true
    }

    private func connected() throws -> Open {
        guard !self.isClosed else { throw ApprovalError(.ledgerFailed, "The ledger was closed") }
        if let state = self.state { return state }
        try self.files.prepare()
        let connection = try SQLiteConnection(path: self.files.database)
        let version: Int
        do {
            version = try Self.schema.check(connection)
        } catch {
            throw ApprovalError(
                .ledgerFailed,
                "\(self.files.database) is no ledger that this package knows",
                underlying: error
            )
        }
        try connection.useWriteAheadLog()
        try connection.run("PRAGMA trusted_schema = OFF")
        try connection.run("PRAGMA secure_delete = ON")
        try connection.set("synchronous = FULL")
        try Self.schema.migrate(connection, from: version)
        try self.files.check()
        return Open(connection: connection, lock: try LockFile(creating: self.files.lease), incarnation: [])
    }

    private func opened() throws -> Open {
        guard let open = self.state else { throw ApprovalError(.ledgerFailed, "The ledger is not open") }
        return open
    }

    private func facts(_ open: Open) throws -> LedgerFacts {
        LedgerFacts(keyCheck: try self.setting("key", open.connection), incarnation: open.incarnation)
    }

    /// Returns whether only the beginning of an epoch was written, before a crash prevented setting the mark.
    private func isUnused(_ connection: SQLiteConnection) throws -> Bool {
        try connection.firstRow("SELECT 1 FROM question LIMIT 1", read: { _ in true }) == nil && self.markIsEmpty()
    }

    private func begin(_ connected: Open, audience: [UInt8]) throws -> Open {
        var open = connected
        open.incarnation = SecureRandom.bytes(16)
        let connection = open.connection
        try connection.transaction {
            for (name, value) in [("audience", audience), ("incarnation", open.incarnation)] {
                try connection.run(
                    "INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)",
                    [.text(name), .blob(value)]
                )
            }
            try connection.run("UPDATE generation SET value = value + 1")
        }
        try self.setFirstMark(open)
        return open
    }

    private func setting(_ name: String, _ connection: SQLiteConnection) throws -> [UInt8]? {
        try connection.firstRow("SELECT value FROM setting WHERE name = ?", [.text(name)]) { $0.blob(0) }
    }

    private func generation(_ connection: SQLiteConnection) throws -> Int64 {
        guard let value = try connection.firstRow("SELECT value FROM generation", read: { $0.integer(0) }) else {
            throw self.damaged
        }
        return value
    }

    // MARK: The mark

    /// The identity bound to the mark: epoch, and inodes of both files. Copies are other files.
    private func identity(_ open: Open) throws -> String {
        let inodes = try [self.files.database, self.files.lease].map { path in
            var status = stat()
            guard stat(path, &status) == 0 else { throw MobileTokenError.system("look at", path) }
            return String(status.st_ino)
        }
        return ([Hexadecimal.encode(open.incarnation)] + inodes).joined(separator: " ")
    }

    private func markIsEmpty() throws -> Bool {
        var status = stat()
        guard stat(self.files.lease, &status) == 0 else { throw MobileTokenError.system("look at", self.files.lease) }
        return status.st_size == 0
    }

    private func setFirstMark(_ open: Open) throws {
        self.setMark(try self.generation(open.connection), try self.identity(open), open)
        let descriptor = Glibc.open(self.files.lease, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw MobileTokenError.system("open", self.files.lease) }
        defer { Glibc.close(descriptor) }
        guard fsync(descriptor) == 0 else { throw MobileTokenError.system("write", self.files.lease) }
    }

    private func setMark(_ generation: Int64, _ identity: String, _ open: Open) {
        HighWaterMarks(in: open.lock).set(UInt64(clamping: generation), of: Self.markSlot, activationID: identity)
    }

    /// Returns the mark; 0 if there is none for these files and this epoch.
    private func mark(_ identity: String, _ open: Open) -> UInt64 {
        for attempt in 0..<5 {
            let mark = HighWaterMarks(in: open.lock).moves(of: Self.markSlot, activationID: identity)
            if mark > 0 { return mark }
            // Another process may be writing it.
            if attempt < 4 { usleep(1_000) }
        }
        return 0
    }

    /// Returns the reason why the file is not the last one written.
    ///
    /// The mark is read first: a concurrent commit only moves the file ahead.
    private func objection(_ open: Open) throws -> String? {
        let mark = self.mark(try self.identity(open), open)
        guard mark > 0 else { return "its mark is missing, or of another file" }
        let life = try open.connection.firstRow(
            "SELECT setting.value, generation.value FROM setting JOIN generation WHERE name = 'incarnation'"
        ) { (incarnation: $0.blob(0), generation: UInt64(clamping: $0.integer(1))) }
        guard let life, life.incarnation == open.incarnation else { return "it was adopted meanwhile" }
        return life.generation < mark ? "it is in an earlier state than its mark" : nil
    }

    private func wentBack(_ objection: String) -> ApprovalError {
        ApprovalError(
            .ledgerWentBack,
            """
            \(self.files.database) was put back, copied or moved (\(objection)). Nothing is done with it. Find out what was done since, and \
            adopt it then
            """
        )
    }

    private var damaged: ApprovalError { ApprovalError(.ledgerFailed, "\(self.files.database) is damaged") }

    // MARK: Transactions

    private typealias Write = (SQLiteConnection) throws -> Void

    private func write<Answer>(_ body: @escaping (SQLiteConnection) throws -> Answer) async throws -> Answer {
        var answer: Answer?
        let write: Write = { answer = try body($0) }
        try await self.retrying { try await self.writes.commit(write, on: self.executor, by: self.commit) }
        guard let answer else { throw ApprovalError(.ledgerFailed, "The ledger was not written") }
        return answer
    }

    private func commit(_ writes: [Write]) throws -> [Void] {
        let open = try self.opened()
        // Before the commit, after which nothing may fail. A process that was suspended between its commit and its mark must not
        // lower a later mark either.
        try self.lock(Self.markLock, open.lock)
        defer { open.lock.unlock(Self.markLock) }
        let identity = try self.identity(open)
        let generation = try open.connection.transaction {
            // Within the lock, so that nothing is written to a rolled-back file.
            if let objection = try self.objection(open) { throw self.wentBack(objection) }
            for write in writes { try write(open.connection) }
            try open.connection.run("UPDATE generation SET value = value + 1")
            return try self.generation(open.connection)
        }
        if self.mark(identity, open) < UInt64(clamping: generation) { self.setMark(generation, identity, open) }
        return writes.map { _ in }
    }

    private func read<Answer>(_ body: (SQLiteConnection) throws -> Answer) throws -> Answer {
        let open = try self.opened()
        if let objection = try self.objection(open) { throw self.wentBack(objection) }
        return try body(open.connection)
    }

    // MARK: Questions

    private static let columns = "key, state, incarnation, tag, needs_attention, asked, content"
    /// Selects rows, and whether they were begun.
    private static let selection =
        "SELECT \(columns), EXISTS (SELECT 1 FROM begun WHERE begun.key = question.key) FROM question"

    private func row(_ row: borrowing SQLiteRow) throws -> LedgerRow {
        LedgerRow(
            key: LedgerKey(bytes: row.blob(0)),
            state: ApprovalState(rawValue: row.text(1)),
            incarnation: row.blob(2),
            tag: row.integer(3),
            needsAttention: row.integer(4) != 0,
            asked: row.integer(5),
            content: row.blob(6),
            wasBegun: row.integer(7) != 0
        )
    }

    package func load(_ key: LedgerKey) throws -> LedgerRow? {
        try self.read { connection in try self.load(key, connection) }
    }

    private func load(_ key: LedgerKey, _ connection: SQLiteConnection) throws -> LedgerRow? {
        try connection.firstRow("\(Self.selection) WHERE key = ?", [.blob(key.bytes)]) {
            try self.row($0)
        }
    }

    package func insert(_ row: LedgerRow, asking: LedgerAsking) async throws -> LedgerInsertion {
        try await self.write { connection in
            if let held = try self.load(row.key, connection) { return held.tag == row.tag ? .written : .held(held) }
            for person in asking.people {
                let (open, last) =
                    try connection.firstRow(
                        """
                        SELECT count(*) FILTER (WHERE state IN ('drafted', 'open')), max(at)
                        FROM asked JOIN question USING (key) WHERE person = ?
                        """,
                        [.blob(person)]
                    ) { (Int($0.integer(0)), $0.isNull(1) ? nil : $0.integer(1)) } ?? (0, nil)
                if open >= asking.maximumOpen { return .tooManyOpen }
                if let objection = asking.objection(to: row.asked, after: last) { return objection }
            }
            for person in asking.people {
                // A question that is neither open nor recent no longer limits others, and would be counted forever.
                try connection.run(
                    """
                    DELETE FROM asked WHERE person = ? AND at < ? AND NOT EXISTS
                        (SELECT 1 FROM question WHERE question.key = asked.key AND state IN ('drafted', 'open'))
                    """,
                    [.blob(person), .integer(row.asked.subtractingSaturated(asking.interval))]
                )
                try connection.run(
                    "INSERT INTO asked (person, at, key) VALUES (?, ?, ?)",
                    [.blob(person), .integer(row.asked), .blob(row.key.bytes)]
                )
            }
            try connection.run(
                "INSERT INTO question (\(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    .blob(row.key.bytes), .text(row.state?.rawValue ?? ""), .blob(row.incarnation), .integer(row.tag),
                    .integer(row.needsAttention ? 1 : 0), .integer(row.asked), .blob(row.content),
                ]
            )
            return .written
        }
    }

    package func swap(_ change: LedgerChange) async throws -> LedgerSwap {
        try await self.write { connection in
            let before = connection.changedRowCount
            try connection.run(
                """
                UPDATE question SET state = ?1, tag = ?2, needs_attention = ?3, content = ?4
                WHERE key = ?5 AND state = ?6 AND incarnation = ?7 AND tag = ?8
                    \(change.isClaim ? "AND NOT EXISTS (SELECT 1 FROM begun WHERE key = ?5)" : "")
                """,
                [
                    .text(change.newState.rawValue), .integer(change.newTag), .integer(change.needsAttention ? 1 : 0),
                    .blob(change.content), .blob(change.key.bytes), .text(change.state.rawValue),
                    .blob(change.incarnation), .integer(change.tag),
                ]
            )
            guard connection.changedRowCount > before else { return .otherRow }
            if change.isClaim { try connection.run("INSERT INTO begun (key) VALUES (?)", [.blob(change.key.bytes)]) }
            return .written
        }
    }

    package func unask(_ people: [[UInt8]], _ key: LedgerKey) async throws {
        try await self.write { connection in
            for person in people {
                try connection.run(
                    "DELETE FROM asked WHERE person = ? AND key = ?",
                    [.blob(person), .blob(key.bytes)]
                )
            }
        }
    }

    package func rows(_ filter: LedgerFilter, after key: LedgerKey?, limit: Int) throws -> [LedgerRow] {
        try self.read { connection in
            let after = SQLiteValue.blob(key?.bytes ?? [])
            let limit = SQLiteValue.integer(Int64(limit))
            switch filter {
            case .needingAttention:
                return try connection.rows(
                    "\(Self.selection) WHERE needs_attention = 1 AND key > ? ORDER BY key LIMIT ?",
                    [after, limit]
                ) { try self.row($0) }
            case .states(let states):
                let names = states.map(\.rawValue).sorted().map { "'\($0)'" }.joined(separator: ", ")
                return try connection.rows(
                    "\(Self.selection) WHERE key > ? AND state IN (\(names)) ORDER BY key LIMIT ?",
                    [after, limit]
                ) { try self.row($0) }
            }
        }
    }

    // MARK: Leases

    package func hold(_ token: Int64) throws {
        guard try self.opened().lock.tryLock(Self.offset(of: token)) else {
            throw ApprovalError(.ledgerFailed, "The lease of a claim is taken")
        }
        self.held.insert(token)
    }

    package func release(_ token: Int64) {
        guard self.held.remove(token) != nil else { return }
        self.state?.lock.unlock(Self.offset(of: token))
    }

    package func isHeld(_ token: Int64) throws -> Bool {
        if self.held.contains(token) { return true }
        let offset = Self.offset(of: token)
        return try self.opened().lock.lockOfAnother(in: offset..<(offset + 1)) != nil
    }

    private static func offset(of token: Int64) -> Int64 { self.firstLease + token & (1 << 48 - 1) }
}
