import SQLiteDatabase

extension SQLiteSchema {
    /// The shape of an activation store. Marks the file with "PASt".
    static let activationStore = SQLiteSchema(
        applicationID: 0x5041_5374,
        migrations: [
            [
                "CREATE TABLE setting (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID",
                // AUTOINCREMENT: the slot also names a place in the lease file, which must never pass to another
                // activation.
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
            ],
            [
                // Entries of the receipts, whose numbers have no gap. An outcome names its `intent`, and an intent its latest
                // `outcome`, so that neither needs an index.
                """
                CREATE TABLE receipt (
                    number INTEGER PRIMARY KEY,
                    activation_id TEXT NOT NULL,
                    moves INTEGER NOT NULL,
                    date INTEGER NOT NULL,
                    intent INTEGER REFERENCES receipt,
                    outcome INTEGER REFERENCES receipt,
                    is_open INTEGER NOT NULL,
                    body BLOB NOT NULL,
                    personal_data BLOB
                ) STRICT
                """,
                // Of the few whose fate has still to be found out.
                "CREATE INDEX open_receipt ON receipt (activation_id, moves) WHERE is_open = 1",
            ],
            // What was exported may be deleted.
            [
                "ALTER TABLE receipt RENAME TO former_receipt",
                // AUTOINCREMENT: no number is ever given twice. No reference is checked: an intent goes before its outcomes.
                """
                CREATE TABLE receipt (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    activation_id TEXT NOT NULL,
                    moves INTEGER NOT NULL,
                    date INTEGER NOT NULL,
                    intent INTEGER,
                    outcome INTEGER,
                    is_open INTEGER NOT NULL,
                    body BLOB NOT NULL,
                    personal_data BLOB
                ) STRICT
                """,
                "INSERT INTO receipt SELECT * FROM former_receipt ORDER BY number",
                "DROP TABLE former_receipt",
                "CREATE INDEX open_receipt ON receipt (activation_id, moves) WHERE is_open = 1",
            ],
        ]
    )
}

extension SQLiteSchema.Mismatch {
    /// Returns the error that the user of a store sees.
    func storeError(path: String) -> MobileTokenError {
        switch self {
        case .newer(let version):
            MobileTokenError(
                .storeFromFuture,
                """
                \(path) has version \(version); this package knows versions up to \
                \(SQLiteSchema.activationStore.currentVersion)
                """
            )
        case .foreign:
            MobileTokenError(.storeUnreadable, "\(path) is a database, but not an activation store")
        }
    }
}
