import Basics
import DecisionReceipts
import SQLiteDatabase

/// An open store: sealed rows in SQLite. Blocking; used by one thread at a time.
final class ActivationDatabase {
    let connection: SQLiteConnection
    private let path: String
    private let options: SQLiteOptions
    /// The connection for commits that a power failure may lose. Separate, because changing the synchronization mode takes two
    /// extra statements.
    private var relaxed: SQLiteConnection?

    /// Opens a prepared file, and creates the store in an empty one.
    init(path: String, options: SQLiteOptions) throws {
        let connection = try SQLiteConnection(path: path, vfs: options.vfs)
        let version: Int
        // Check before anything could be changed.
        do {
            version = try SQLiteSchema.activationStore.check(connection)
        } catch let mismatch as SQLiteSchema.Mismatch {
            throw mismatch.storeError(path: path)
        }
        // Possible only in a new file; others reuse freed pages.
        let isNew = try connection.firstRow("PRAGMA page_count") { $0.integer(0) } == 0
        if isNew { try connection.set("auto_vacuum = INCREMENTAL") }
        try connection.useWriteAheadLog()
        try Self.prepare(connection, options, synchronous: options.synchronous)
        try SQLiteSchema.activationStore.migrate(connection, from: version)
        self.connection = connection
        self.path = path
        self.options = options
    }

    init(copy path: String) throws {
        self.connection = try SQLiteConnection(path: path, access: .readOnly)
        self.path = path
        self.options = .init()
    }

    private static func prepare(
        _ connection: SQLiteConnection,
        _ options: SQLiteOptions,
        synchronous: String
    ) throws {
        try connection.run("PRAGMA trusted_schema = OFF")
        try connection.run("PRAGMA cell_size_check = ON")
        try connection.run("PRAGMA secure_delete = ON")
        try connection.set("synchronous = \(synchronous)")
        try connection.run("PRAGMA wal_autocheckpoint = \(options.checkpointPages)")
        if let pages = options.maximumPageCount { try connection.run("PRAGMA max_page_count = \(pages)") }
    }

    /// Returns the connection for commits that a power failure may lose. They survive the death of the process, and become
    /// durable with the other connection's next commit.
    func relaxedConnection() throws -> SQLiteConnection {
        if let relaxed = self.relaxed { return relaxed }
        let connection = try SQLiteConnection(path: self.path, vfs: self.options.vfs)
        try Self.prepare(connection, self.options, synchronous: "NORMAL")
        self.relaxed = connection
        return connection
    }

    var statementCount: Int { self.connection.statementCount + (self.relaxed?.statementCount ?? 0) }

    // MARK: Keys and settings

    /// Returns the current sealing key, if there is one.
    func keys() throws -> [StoreFacts.Key] {
        let keys = try self.connection.rows("SELECT number, key_check FROM sealing_key ORDER BY number DESC LIMIT 1") {
            StoreFacts.Key(number: $0.integer(0), check: $0.blob(1))
        }
        // Otherwise any key would be accepted and used beside the missing one.
        guard try !keys.isEmpty || self.activationIDs(.all).isEmpty else {
            throw MobileTokenError.damaged("sealing key")
        }
        return keys
    }

    /// Makes a key the current one. Numbers are never reused.
    func addKey(_ check: [UInt8]) throws {
        try self.connection.run("INSERT INTO sealing_key (key_check) VALUES (?)", [.blob(check)])
    }

    /// The number of the current key, as SQL.
    static let currentKey = "(SELECT max(number) FROM sealing_key)"

    func setting(_ name: String) throws -> [UInt8]? {
        try self.connection.firstRow("SELECT value FROM setting WHERE name = ?", [.text(name)]) { $0.blob(0) }
    }

    func set(_ name: String, to value: [UInt8]) throws {
        try self.connection.run(
            "INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)",
            [.text(name), .blob(value)]
        )
    }

    func removeSetting(_ name: String) throws {
        try self.connection.run("DELETE FROM setting WHERE name = ?", [.text(name)])
    }

    // MARK: Activations

    func activationIDs(_ filter: RowFilter) throws -> [String] {
        switch filter {
        case .all:
            try self.connection.rows("SELECT activation_id FROM activation ORDER BY slot") { $0.text(0) }
        case .upgrading:
            try self.connection.rows(
                """
                SELECT activation_id FROM field JOIN activation USING (slot)
                WHERE name = '\(SealedActivation.upgradeMark.name)' AND value = ? ORDER BY slot
                """,
                [.blob(SealedActivation.upgradeMark.bytes)]
            ) { $0.text(0) }
        }
    }

    /// Returns an activation's slot, here and in the lease file; `nil` if there is none.
    func slot(of activationID: String) throws -> Int64? {
        let slot = try self.connection.firstRow(
            "SELECT slot FROM activation WHERE activation_id = ?",
            [.text(activationID)]
        ) { $0.integer(0) }
        return try slot.map { try Self.checked($0) }
    }

    /// Checks that the slot fits the lease file.
    private static func checked(_ slot: Int64) throws -> Int64 {
        guard LeaseFile.slots.contains(slot) else { throw MobileTokenError.damaged("slot") }
        return slot
    }

    /// - Parameter charged: The number of the last receipt that charged limits, as far as is known outside the file.
    func activation(_ activationID: String, charged: UInt64 = 0) throws -> LoadedRow? {
        typealias Head = (
            slot: Int64, tag: WriteTag, counter: [UInt8]?, key: Int64, pause: DecisionPause?, receipts: UInt64
        )
        var head: Head?
        var fields = try self.connection.rows(
            """
            SELECT slot, tag, counter, \(Self.currentKey), (SELECT value FROM setting WHERE name = '\(Self.decisionPause)'),
                name, is_sealed, value, (SELECT seq FROM sqlite_sequence WHERE name = 'receipt')
            FROM activation LEFT JOIN field USING (slot) WHERE activation_id = ? ORDER BY name
            """,
            [.text(activationID)]
        ) { row in
            if head == nil {
                head = (
                    row.integer(0), WriteTag(rawValue: row.integer(1)), row.isNull(2) ? nil : row.blob(2),
                    row.integer(3), row.isNull(4) ? nil : DecisionPause(stored: row.blob(4)),
                    row.isNull(8) ? 0 : UInt64(clamping: row.integer(8))
                )
            }
            return SealedActivation.Field(name: row.text(5), isSealed: row.integer(6) != 0, bytes: row.blob(7))
        }
        guard let head else { return nil }
        if let counter = head.counter {
            fields.append(SealedActivation.Field(name: Self.counterField, isSealed: true, bytes: counter))
        }
        let sealed = SealedActivation(activationID: activationID, fields: fields)
        var row = LoadedRow(
            slot: try Self.checked(head.slot),
            tag: head.tag,
            key: head.key,
            sealed: sealed,
            format: sealed.format,
            pause: head.pause
        )
        row.lacksCharges = head.receipts < charged
        return row
    }

    /// The field that every signature changes. It is in the activation's row, which every signature changes anyway.
    private static let counterField = RecordFields.Name.counter.string

    func insert(_ activation: SealedActivation, tag: WriteTag) throws -> Int64 {
        let counter = activation.fields.first { $0.name == Self.counterField }
        let slots = try self.connection.rows(
            "INSERT INTO activation (activation_id, tag, counter) VALUES (?, ?, ?) RETURNING slot",
            [.text(activation.activationID), .integer(tag.rawValue), counter.map { .blob($0.bytes) } ?? .null]
        ) { $0.integer(0) }
        guard let slot = try slots.first.map({ try Self.checked($0) }) else { throw MobileTokenError.notStored() }
        for field in activation.fields where field.name != Self.counterField { try self.write(field, in: slot) }
        return slot
    }

    /// Writes a change within a transaction, if the row is unchanged since it was loaded.
    func swap(_ change: RowChange) throws -> SwapAnswer {
        let counter = change.fields.written.first { $0.name == Self.counterField }
        let before = self.connection.changedRowCount
        let limits = Self.condition(of: change.charges)
        try self.connection.run(
            """
            UPDATE activation SET tag = ?, counter = coalesce(?, counter) WHERE slot = ? AND tag = ? AND NOT (
                ? AND EXISTS (SELECT 1 FROM setting WHERE name = '\(Self.decisionPause)')
            )\(limits.sql)
            """,
            [
                .integer(change.newTag.rawValue), counter.map { .blob($0.bytes) } ?? .null, .integer(change.slot),
                .integer(change.tag.rawValue), .integer(change.heedsPause ? 1 : 0),
            ] + limits.values
        )
        guard self.connection.changedRowCount > before else { return try self.obstacle(to: change) }
        for field in change.fields.written where field.name != Self.counterField {
            try self.write(field, in: change.slot)
        }
        for name in change.fields.removed {
            try self.connection.run(
                "DELETE FROM field WHERE slot = ? AND name = ?",
                [.integer(change.slot), .text(name)]
            )
        }
        if let intent = change.intent { try self.insert(intent: intent, tag: change.newTag, self.connection) }
        return .written
    }

    /// Returns the reason why a change was not written.
    private func obstacle(to change: RowChange) throws -> SwapAnswer {
        let tag = try self.connection.firstRow("SELECT tag FROM activation WHERE slot = ?", [.integer(change.slot)]) {
            WriteTag(rawValue: $0.integer(0))
        }
        guard let tag else { return .gone }
        guard tag == change.tag else { return tag == change.newTag ? .written : .otherTag }
        if change.heedsPause, let pause = try self.decisionPause() { return .paused(pause) }
        return try self.limit(passedBy: change.charges).map { .limited($0) } ?? .otherTag
    }

    func remove(slot: Int64) throws {
        try self.connection.run("DELETE FROM field WHERE slot = ?", [.integer(slot)])
        try self.connection.run("DELETE FROM activation WHERE slot = ?", [.integer(slot)])
    }

    private func write(_ field: SealedActivation.Field, in slot: Int64) throws {
        try self.connection.run(
            """
            INSERT INTO field (slot, name, is_sealed, value) VALUES (?, ?, ?, ?)
            ON CONFLICT (slot, name) DO UPDATE SET is_sealed = excluded.is_sealed, value = excluded.value
            """,
            [.integer(slot), .text(field.name), .integer(field.isSealed ? 1 : 0), .blob(field.bytes)]
        )
    }
}
