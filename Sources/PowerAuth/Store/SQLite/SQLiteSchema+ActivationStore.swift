import SQLiteDatabase

extension SQLiteSchema {
    /// The shape of an activation store. Marks the file with "PASt".
    static let activationStore = SQLiteSchema(
        applicationID: 0x5041_5374,
        // Versions before were never released.
        firstVersion: 10,
        migrations: [
            [
                "CREATE TABLE setting (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID",
                // The greatest number is that of the key that everything is sealed with. The check recognizes a key, and does not
                // help to find it.
                """
                CREATE TABLE sealing_key (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    key_check BLOB NOT NULL
                ) STRICT
                """,
                // AUTOINCREMENT: the slot also names a place in the lease file, which must never pass to another
                // activation. `tag` is what a change must find unchanged. The counter, which every change of the tag writes
                // anew, lies beside it.
                """
                CREATE TABLE activation (
                    slot INTEGER PRIMARY KEY AUTOINCREMENT,
                    activation_id TEXT NOT NULL UNIQUE,
                    tag INTEGER NOT NULL,
                    counter BLOB
                ) STRICT
                """,
                // One row a value, so that a change writes little.
                """
                CREATE TABLE field (
                    slot INTEGER NOT NULL REFERENCES activation,
                    name TEXT NOT NULL,
                    is_sealed INTEGER NOT NULL,
                    value BLOB NOT NULL,
                    PRIMARY KEY (slot, name)
                ) STRICT, WITHOUT ROWID
                """,
                // The few that are asked for once a second.
                "CREATE INDEX upgrading_field ON field (slot) WHERE name = '\(SealedActivation.upgradeMark.name)'",
                // Entries of the receipts, whose numbers have no gap. An outcome names its `intent`, and an intent its latest
                // `outcome` and the weight of that, so that neither needs an index. AUTOINCREMENT: no number is ever given
                // twice. No reference is checked: an intent goes before its outcomes.
                """
                CREATE TABLE receipt (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    activation_id TEXT NOT NULL,
                    moves INTEGER NOT NULL,
                    tag INTEGER NOT NULL,
                    date INTEGER NOT NULL,
                    intent INTEGER,
                    outcome INTEGER,
                    weight INTEGER NOT NULL,
                    body BLOB NOT NULL,
                    personal_data BLOB
                ) STRICT
                """,
                // Of the few whose outcome another one may replace.
                """
                CREATE INDEX receipt_intent ON receipt (activation_id, moves)
                WHERE intent IS NULL AND weight < \(DecisionOutcome.Result.finalWeight)
                """,
                // An outcome is one statement, which commits by itself.
                """
                CREATE TRIGGER receipt_outcome AFTER INSERT ON receipt WHEN new.intent IS NOT NULL BEGIN
                    UPDATE receipt SET outcome = new.number, weight = new.weight WHERE number = new.intent;
                END
                """,
            ]
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
        case .older(let version):
            MobileTokenError(
                .storeUnreadable,
                "\(path) has version \(version), which was never released; this package cannot read it"
            )
        case .foreign:
            MobileTokenError(.storeUnreadable, "\(path) is a database, but not an activation store")
        }
    }
}
