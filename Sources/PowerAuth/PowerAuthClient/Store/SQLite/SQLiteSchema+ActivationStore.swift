import DecisionReceipts
import SQLiteDatabase

extension SQLiteSchema {
    /// The schema of an activation store, with the file mark "PASt".
    static let activationStore = SQLiteSchema(
        applicationID: 0x5041_5374,
        // Earlier versions were never released.
        firstVersion: 10,
        migrations: [
            [
                "CREATE TABLE setting (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID",
                // The highest number is the current key. The check value identifies a key without revealing it.
                """
                CREATE TABLE sealing_key (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    key_check BLOB NOT NULL
                ) STRICT
                """,
                // AUTOINCREMENT: the slot also names a place in the lease file, which must never pass to another activation. A
                // change requires an unchanged `tag`. The counter is in the same row, because it changes with the tag.
                """
                CREATE TABLE activation (
                    slot INTEGER PRIMARY KEY AUTOINCREMENT,
                    activation_id TEXT NOT NULL UNIQUE,
                    tag INTEGER NOT NULL,
                    counter BLOB
                ) STRICT
                """,
                // One row per value, so that a change writes little.
                """
                CREATE TABLE field (
                    slot INTEGER NOT NULL REFERENCES activation,
                    name TEXT NOT NULL,
                    is_sealed INTEGER NOT NULL,
                    value BLOB NOT NULL,
                    PRIMARY KEY (slot, name)
                ) STRICT, WITHOUT ROWID
                """,
                // Few rows, queried once a second.
                "CREATE INDEX upgrading_field ON field (slot) WHERE name = '\(SealedActivation.upgradeMark.name)'",
                // Receipt entries, numbered without gaps. An outcome names its `intent`, and an intent its latest `outcome` with
                // its weight, so that neither needs an index. AUTOINCREMENT: numbers are never reused. No foreign key: an intent
                // is deleted before its outcomes.
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
                // The few intents with an outcome that may be replaced.
                """
                CREATE INDEX receipt_intent ON receipt (activation_id, moves)
                WHERE intent IS NULL AND weight < \(DecisionOutcome.Result.finalWeight)
                """,
                // An outcome is one statement that commits by itself.
                """
                CREATE TRIGGER receipt_outcome AFTER INSERT ON receipt WHEN new.intent IS NOT NULL BEGIN
                    UPDATE receipt SET outcome = new.number, weight = new.weight WHERE number = new.intent;
                END
                """,
            ],
            Self.limits,
        ]
    )
}

extension SQLiteSchema {
    /// The charges to limits. Triggers write them, so that a decision takes no more statements than without.
    private static let limits = [
        // For each key, what was charged up to each minute: see `ChargeSums`. The empty key has the minute of the latest restore.
        """
        CREATE TABLE charge (
            key TEXT NOT NULL,
            minute INTEGER NOT NULL,
            agents INTEGER NOT NULL,
            people INTEGER NOT NULL,
            PRIMARY KEY (key, minute)
        ) STRICT, WITHOUT ROWID
        """,
        // The places of a receipt's charges: a trigger can neither count nor read JSON.
        "CREATE TABLE place (number INTEGER PRIMARY KEY) STRICT",
        "INSERT INTO place VALUES \((0..<LimitCharges.maximumCount).map { "(\($0))" }.joined(separator: ", "))",
        "ALTER TABLE receipt ADD COLUMN charges TEXT",
        // Of an intent, whether its charges are taken back; of an outcome, whether it takes them back.
        "ALTER TABLE receipt ADD COLUMN is_released INTEGER NOT NULL DEFAULT 0",
        """
        CREATE TRIGGER receipt_charge AFTER INSERT ON receipt WHEN new.charges IS NOT NULL BEGIN
            INSERT INTO charge (key, minute, agents, people)
            SELECT c.key, max(c.minute, coalesce(last.minute, 0)), c.agents + coalesce(last.agents, 0),
                c.people + coalesce(last.people, 0)
            FROM (
                SELECT \(LimitCharges.columns(of: "new.charges", "place.number")) FROM place
                WHERE place.number * \(LimitCharges.width) < length(new.charges)
            ) AS c LEFT JOIN charge AS last
                ON last.key = c.key AND last.minute = (SELECT max(minute) FROM charge WHERE key = c.key)
            WHERE true
            ON CONFLICT (key, minute) DO UPDATE SET agents = excluded.agents, people = excluded.people;
            DELETE FROM charge WHERE (key, minute) IN (
                SELECT old.key, old.minute FROM (
                    SELECT \(LimitCharges.columns(of: "new.charges", "place.number")) FROM place
                    WHERE place.number * \(LimitCharges.width) < length(new.charges)
                ) AS c JOIN charge AS old ON old.key = c.key AND old.minute < (
                    SELECT max(minute) FROM charge WHERE key = c.key AND minute < c.minute - \(ChargeSums.lifetime)
                )
            );
        END
        """,
        // Apart from the outcome, and for few outcomes: the temporary table of its update costs more than the rest of the statement.
        """
        CREATE TRIGGER receipt_release AFTER INSERT ON receipt WHEN new.intent IS NOT NULL
            AND new.is_released <> (SELECT is_released FROM receipt WHERE number = new.intent)
        BEGIN
            UPDATE charge SET agents = charge.agents + (1 - 2 * new.is_released) * c.agents,
                people = charge.people + (1 - 2 * new.is_released) * c.people
            FROM (
                SELECT \(LimitCharges.columns(of: "i.charges", "place.number")) FROM receipt AS i, place
                WHERE i.number = new.intent AND place.number * \(LimitCharges.width) < length(i.charges)
            ) AS c WHERE charge.key = c.key AND charge.minute >= c.minute;
            UPDATE receipt SET is_released = new.is_released WHERE number = new.intent;
        END
        """,
    ]
}

extension SQLiteSchema.Mismatch {
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
