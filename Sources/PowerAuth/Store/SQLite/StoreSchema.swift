/// The shape of the database, version by version.
enum StoreSchema {
    /// Marks the file as an activation store ("PASt"), as `PRAGMA application_id` reads it.
    private static let applicationID: Int64 = 0x5041_5374

    /// What leads from each version to the next; the first makes an empty file a store.
    ///
    /// Never edit a step that was released: add another.
    private static let migrations: [[String]] = [
        [
            "CREATE TABLE setting (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID",
            // AUTOINCREMENT: the slot also names a place in the lease file, which must never pass to another activation.
            """
            CREATE TABLE activation (
                slot INTEGER PRIMARY KEY AUTOINCREMENT,
                activation_id TEXT NOT NULL UNIQUE
            ) STRICT
            """,
            // One row a value, so that moving a counter writes one small row.
            """
            CREATE TABLE field (
                slot INTEGER NOT NULL REFERENCES activation,
                name TEXT NOT NULL,
                is_sealed INTEGER NOT NULL,
                value BLOB NOT NULL,
                PRIMARY KEY (slot, name)
            ) STRICT, WITHOUT ROWID
            """,
        ]
    ]

    static var currentVersion: Int { self.migrations.count }

    /// Refuses a file that is no store, or one of a newer version; changes nothing.
    static func check(_ connection: SQLiteConnection, path: String) throws {
        let version = try self.version(of: connection)
        guard version <= self.currentVersion else {
            throw MobileTokenError(
                .storeFromFuture,
                "\(path) has version \(version); this package knows versions up to \(self.currentVersion)"
            )
        }
        let applicationID = try connection.firstRow("PRAGMA application_id") { $0.integer(0) } ?? 0
        let tables = try connection.firstRow("SELECT count(*) FROM sqlite_schema") { $0.integer(0) } ?? 0
        guard version >= 0, applicationID == self.applicationID || (applicationID == 0 && tables == 0) else {
            throw MobileTokenError(.storeUnreadable, "\(path) is a database, but not an activation store")
        }
    }

    /// Brings the file to the current version in one transaction.
    static func migrate(_ connection: SQLiteConnection) throws {
        guard try self.version(of: connection) < self.currentVersion else { return }
        try connection.write {
            // Another process may have been quicker.
            for step in self.migrations.dropFirst(try self.version(of: connection)) {
                for statement in step { try connection.run(statement) }
            }
            try connection.run("PRAGMA application_id = \(self.applicationID)")
            try connection.run("PRAGMA user_version = \(self.currentVersion)")
        }
    }

    private static func version(of connection: SQLiteConnection) throws -> Int {
        Int(try connection.firstRow("PRAGMA user_version") { $0.integer(0) } ?? 0)
    }
}
