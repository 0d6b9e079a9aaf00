import SQLiteDatabase

/// An open store: sealed activations in SQLite. Blocks; used by one thread at a time.
final class ActivationDatabase {
    private static let keyCheck = "sealing-key-check"

    let connection: SQLiteConnection
    /// How a commit reaches the disk that must be there when it returns; `NORMAL` would let a power failure take it back.
    private let synchronous: String
    /// How the next one does; `nil` when that is not known.
    private var currentSynchronous: String?

    /// Opens a prepared file, and makes an empty one a store.
    init(path: String, options: SQLiteActivationStore.Options) throws {
        let connection = try SQLiteConnection(path: path, vfs: options.vfs)
        // Before anything could be changed.
        do {
            try SQLiteSchema.activationStore.check(connection)
        } catch let mismatch as SQLiteSchema.Mismatch {
            throw mismatch.storeError(path: path)
        }
        try connection.run("PRAGMA trusted_schema = OFF")
        try connection.run("PRAGMA cell_size_check = ON")
        try connection.run("PRAGMA secure_delete = ON")
        // Before anything is written to a new file; in another one, freed pages are used again.
        let isNew = try connection.firstRow("PRAGMA page_count") { $0.integer(0) } == 0
        if isNew { try connection.set("auto_vacuum = INCREMENTAL") }
        try connection.useWriteAheadLog()
        try connection.set("synchronous = \(options.synchronous)")
        try connection.run("PRAGMA wal_autocheckpoint = \(options.checkpointPages)")
        if let pages = options.maximumPageCount { try connection.run("PRAGMA max_page_count = \(pages)") }
        try SQLiteSchema.activationStore.migrate(connection)
        self.connection = connection
        self.synchronous = options.synchronous
        self.currentSynchronous = options.synchronous
    }

    /// Opens a copy, which is read only.
    init(copy path: String) throws {
        self.connection = try SQLiteConnection(path: path, access: .readOnly)
        self.synchronous = "FULL"
    }

    /// Returns what the store's key is recognized by; `nil` while nothing was sealed.
    func keyCheck() throws -> [UInt8]? {
        let check = try self.connection.firstRow("SELECT value FROM setting WHERE name = ?", [.text(Self.keyCheck)]) {
            $0.blob(0)
        }
        // Without it any key would be taken for the right one, and a second one be used beside it.
        guard try check != nil || self.activationIDs().isEmpty else { throw MobileTokenError.damaged(Self.keyCheck) }
        return check
    }

    /// Runs `body` as one change of the store, of which all is kept or nothing.
    ///
    /// - Parameter isDurable: Whether it is on the disk when the call returns. Otherwise a power failure may take it back; the
    ///   death of the process cannot, and the next durable change makes it durable too.
    func write<Result>(isDurable: Bool = true, _ body: () throws -> Result) throws -> Result {
        try self.synchronize(isDurable ? self.synchronous : "NORMAL")
        return try self.connection.transaction(body)
    }

    private func synchronize(_ mode: String) throws {
        guard mode != self.currentSynchronous else { return }
        self.currentSynchronous = nil
        try self.connection.set("synchronous = \(mode)")
        self.currentSynchronous = mode
    }

    /// Runs `body` within a change, as a part that is undone alone when it throws.
    func nested<Result>(_ body: () throws -> Result) throws -> Result {
        try self.connection.savepoint(body)
    }

    /// Whether a change is under way. A failure may have ended it.
    var isInTransaction: Bool { self.connection.isInTransaction }

    /// How many statements were run.
    var statementCount: Int { self.connection.statementCount }

    func setKeyCheck(_ check: [UInt8]) throws {
        try self.set(Self.keyCheck, to: check)
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

    func activationIDs() throws -> [String] {
        try self.connection.rows("SELECT activation_id FROM activation ORDER BY slot") { $0.text(0) }
    }

    /// Returns the number that stands for an activation, here and in the lease file; `nil` when there is none.
    func slot(of activationID: String) throws -> Int64? {
        let slot = try self.connection.firstRow(
            "SELECT slot FROM activation WHERE activation_id = ?",
            [.text(activationID)]
        ) { $0.integer(0) }
        if let slot { try Self.check(slot) }
        return slot
    }

    /// An activation as one statement finds it.
    struct Stored {
        let slot: Int64
        let sealed: SealedActivation
        /// What the store's key is recognized by.
        let keyCheck: [UInt8]
        /// The pause of automatic decisions, if there is one.
        let pause: DecisionPause?
    }

    /// Returns the activation as it is stored, or `nil`.
    func activation(_ activationID: String) throws -> Stored? {
        var slot: Int64?
        var keyCheck: [UInt8] = []
        var pause: DecisionPause?
        let fields = try self.connection.rows(
            """
            SELECT slot, name, is_sealed, field.value, (SELECT value FROM setting WHERE name = '\(Self.keyCheck)'),
                (SELECT value FROM setting WHERE name = '\(Self.decisionPause)')
            FROM activation LEFT JOIN field USING (slot) WHERE activation_id = ? ORDER BY name
            """,
            [.text(activationID)]
        ) { row in
            if slot == nil {
                slot = row.integer(0)
                keyCheck = row.blob(4)
                pause = row.isNull(5) ? nil : DecisionPause(stored: row.blob(5))
            }
            return SealedActivation.Field(name: row.text(1), isSealed: row.integer(2) != 0, bytes: row.blob(3))
        }
        guard let slot else { return nil }
        try Self.check(slot)
        return Stored(
            slot: slot,
            sealed: SealedActivation(activationID: activationID, fields: fields),
            keyCheck: keyCheck,
            pause: pause
        )
    }

    func isUpgrading(_ activationID: String) throws -> Bool {
        let mark = SealedActivation.upgradeMark
        return try self.connection.firstRow(
            "SELECT 1 FROM activation JOIN field USING (slot) WHERE activation_id = ? AND name = ? AND value = ?",
            [.text(activationID), .text(mark.name), .blob(mark.bytes)]
        ) { _ in true } ?? false
    }

    /// Places in the lease file are computed from it.
    private static func check(_ slot: Int64) throws {
        guard LeaseFile.slots.contains(slot) else { throw MobileTokenError.damaged("slot") }
    }

    /// Adds an activation and returns its slot.
    func insert(_ activation: SealedActivation) throws -> Int64 {
        try self.connection.run("INSERT INTO activation (activation_id) VALUES (?)", [.text(activation.activationID)])
        guard let slot = try self.slot(of: activation.activationID) else { throw MobileTokenError.notStored() }
        for field in activation.fields { try self.write(field, in: slot) }
        return slot
    }

    func apply(_ changes: SealedActivation.Changes, in slot: Int64) throws {
        for field in changes.written { try self.write(field, in: slot) }
        for name in changes.removed {
            try self.connection.run("DELETE FROM field WHERE slot = ? AND name = ?", [.integer(slot), .text(name)])
        }
    }

    func remove(slot: Int64) throws {
        try self.connection.run("DELETE FROM field WHERE slot = ?", [.integer(slot)])
        try self.connection.run("DELETE FROM activation WHERE slot = ?", [.integer(slot)])
    }

    /// Does what inserting an activation does, without leaving one behind.
    ///
    /// The rows themselves are taken back within their transaction, since a crash must not leave half an activation; they
    /// show that the tables take them. That a commit reaches the disk is shown by a setting that is never read.
    func rehearseInsertion() throws {
        do {
            try self.write {
                let fields = (0..<Self.rehearsedFieldCount).map {
                    SealedActivation.Field(name: "rehearsal-\($0)", isSealed: true, bytes: Self.rehearsal)
                }
                _ = try self.insert(SealedActivation(activationID: Self.rehearsalName, fields: fields))
                throw RehearsalEnd()
            }
        } catch is RehearsalEnd {}
        let setting = [UInt8](repeating: 0, count: Self.rehearsedFieldCount * Self.rehearsal.count)
        try self.write { try self.set(Self.rehearsalName, to: setting) }
        try self.write { try self.removeSetting(Self.rehearsalName) }
    }

    private static let rehearsalName = "rehearsal"
    private static let rehearsedFieldCount = 16
    private static let rehearsal = [UInt8](repeating: 0, count: 256)

    /// Takes a rehearsal back.
    private struct RehearsalEnd: Error {}

    /// Moves what the log holds into the database, where deleted bytes are overwritten.
    func emptyLog() {
        self.connection.emptyLog()
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
