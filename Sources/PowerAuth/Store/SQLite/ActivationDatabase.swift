import Basics
import SQLiteDatabase

/// An open store: sealed rows in SQLite. Blocks; used by one thread at a time.
final class ActivationDatabase {
    let connection: SQLiteConnection
    private let path: String
    private let options: SQLiteOptions
    /// Writes what a power failure may take back. A connection of its own, for a change of how one synchronizes takes two
    /// statements more.
    private var relaxed: SQLiteConnection?

    /// Opens a prepared file, and makes an empty one a store.
    init(path: String, options: SQLiteOptions) throws {
        let connection = try SQLiteConnection(path: path, vfs: options.vfs)
        let version: Int
        // Before anything could be changed.
        do {
            version = try SQLiteSchema.activationStore.check(connection)
        } catch let mismatch as SQLiteSchema.Mismatch {
            throw mismatch.storeError(path: path)
        }
        // Before anything is written to a new file; in another one, freed pages are used again.
        let isNew = try connection.firstRow("PRAGMA page_count") { $0.integer(0) } == 0
        if isNew { try connection.set("auto_vacuum = INCREMENTAL") }
        try connection.useWriteAheadLog()
        try Self.prepare(connection, options, synchronous: options.synchronous)
        try SQLiteSchema.activationStore.migrate(connection, from: version)
        self.connection = connection
        self.path = path
        self.options = options
    }

    /// Opens a copy, which is read only.
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

    /// The connection whose commits a power failure may take back. The death of the process cannot, and the next durable commit
    /// of the other connection makes them durable too.
    func relaxedConnection() throws -> SQLiteConnection {
        if let relaxed = self.relaxed { return relaxed }
        let connection = try SQLiteConnection(path: self.path, vfs: self.options.vfs)
        try Self.prepare(connection, self.options, synchronous: "NORMAL")
        self.relaxed = connection
        return connection
    }

    /// The number of statements that were run.
    var statementCount: Int { self.connection.statementCount + (self.relaxed?.statementCount ?? 0) }

    // MARK: Keys and settings

    /// Returns the key that everything is sealed with, if anything is.
    func keys() throws -> [StoreFacts.Key] {
        let keys = try self.connection.rows("SELECT number, key_check FROM sealing_key ORDER BY number DESC LIMIT 1") {
            StoreFacts.Key(number: $0.integer(0), check: $0.blob(1))
        }
        // Without it any key would be taken for the right one, and a second one be used beside it.
        guard try !keys.isEmpty || self.activationIDs(.all).isEmpty else {
            throw MobileTokenError.damaged("sealing key")
        }
        return keys
    }

    /// Makes a key the one that everything is sealed with from now on. Numbers are not given twice.
    func addKey(_ check: [UInt8]) throws {
        try self.connection.run("INSERT INTO sealing_key (key_check) VALUES (?)", [.blob(check)])
    }

    /// The number of the key that everything is sealed with, within a statement.
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

    /// Returns the number that stands for an activation, here and in the lease file; `nil` when there is none.
    func slot(of activationID: String) throws -> Int64? {
        let slot = try self.connection.firstRow(
            "SELECT slot FROM activation WHERE activation_id = ?",
            [.text(activationID)]
        ) { $0.integer(0) }
        return try slot.map { try Self.checked($0) }
    }

    /// Places in the lease file are computed from it.
    private static func checked(_ slot: Int64) throws -> Int64 {
        guard LeaseFile.slots.contains(slot) else { throw MobileTokenError.damaged("slot") }
        return slot
    }

    /// Returns the activation as it is stored, or `nil`.
    func activation(_ activationID: String) throws -> LoadedRow? {
        typealias Head = (slot: Int64, tag: WriteTag, counter: [UInt8]?, key: Int64, pause: DecisionPause?)
        var head: Head?
        var fields = try self.connection.rows(
            """
            SELECT slot, tag, counter, \(Self.currentKey), (SELECT value FROM setting WHERE name = '\(Self.decisionPause)'),
                name, is_sealed, value
            FROM activation LEFT JOIN field USING (slot) WHERE activation_id = ? ORDER BY name
            """,
            [.text(activationID)]
        ) { row in
            if head == nil {
                head = (
                    row.integer(0), WriteTag(rawValue: row.integer(1)), row.isNull(2) ? nil : row.blob(2),
                    row.integer(3), row.isNull(4) ? nil : DecisionPause(stored: row.blob(4))
                )
            }
            return SealedActivation.Field(name: row.text(5), isSealed: row.integer(6) != 0, bytes: row.blob(7))
        }
        guard let head else { return nil }
        if let counter = head.counter {
            fields.append(SealedActivation.Field(name: Self.counterField, isSealed: true, bytes: counter))
        }
        let sealed = SealedActivation(activationID: activationID, fields: fields)
        return LoadedRow(
            slot: try Self.checked(head.slot),
            tag: head.tag,
            key: head.key,
            sealed: sealed,
            format: sealed.format,
            pause: head.pause
        )
    }

    /// The field that every signature changes. It lies in the row of its activation, which every signature changes too.
    private static let counterField = RecordFields.Name.counter.string

    /// Adds an activation and returns its slot.
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

    /// Writes a change within a transaction, if the row is still the one that was loaded.
    func swap(_ change: RowChange) throws -> SwapAnswer {
        let counter = change.fields.written.first { $0.name == Self.counterField }
        let before = self.connection.changedRowCount
        try self.connection.run(
            """
            UPDATE activation SET tag = ?1, counter = coalesce(?2, counter) WHERE slot = ?3 AND tag = ?4 AND NOT (
                ?5 AND EXISTS (SELECT 1 FROM setting WHERE name = '\(Self.decisionPause)')
            )
            """,
            [
                .integer(change.newTag.rawValue), counter.map { .blob($0.bytes) } ?? .null, .integer(change.slot),
                .integer(change.tag.rawValue), .integer(change.heedsPause ? 1 : 0),
            ]
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

    /// Finds out why a change was not written.
    private func obstacle(to change: RowChange) throws -> SwapAnswer {
        let tag = try self.connection.firstRow("SELECT tag FROM activation WHERE slot = ?", [.integer(change.slot)]) {
            WriteTag(rawValue: $0.integer(0))
        }
        guard let tag else { return .gone }
        guard tag == change.tag else { return tag == change.newTag ? .written : .otherTag }
        return try self.decisionPause().map { .paused($0) } ?? .otherTag
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
