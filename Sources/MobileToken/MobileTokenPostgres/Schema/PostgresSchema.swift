import DecisionReceipts
import PostgresDatabase

/// The versioned tables. Released steps are never edited. Each step only adds, so that nodes of the previous version continue;
/// obsolete parts are dropped a release later.
struct PostgresSchema: Sendable {
    let name: String
    /// The steps that this program knows, oldest first.
    var steps = Self.steps

    /// One step, and the oldest version of this package that can use its result.
    struct Step: Sendable {
        let statements: [String]
        /// Created after the step, concurrently with writes, however long that takes.
        var indexes: [Index] = []
        let oldestReader: Int64
    }

    struct Index: Sendable {
        let name: String
        let table: String
        let columns: String
    }

    /// The version after the first step. Earlier ones were never released.
    static let firstVersion: Int64 = 10

    var currentVersion: Int64 { Self.firstVersion + Int64(self.steps.count) - 1 }

    /// Keeps nodes that start at once from migrating concurrently. Released with its transaction.
    private static let lock = "SELECT pg_advisory_xact_lock(hashtextextended('mobile-token schema ' || $1, 0))"
    /// Limits the wait for a table lock, because others queue behind it.
    private static let patience = "SELECT set_config('lock_timeout', '200', true)"

    enum Mismatch: Error, Equatable {
        /// The tables are missing, and the caller does not allow creating them.
        case missing
        /// A newer package has changed the tables incompatibly.
        case newer(version: Int64)
        /// The tables have a version that was never released.
        case older(version: Int64)
        /// The database's encoding is not UTF-8.
        case encoding
    }

    /// Checks the tables, and migrates older ones.
    ///
    /// - Parameter migrates: `true` if tables may be created and changed.
    /// - Throws: An error of kind `timeout` if a table is in use for longer than a moment; retry then.
    func prepare(_ connection: PostgresConnection, migrates: Bool) throws {
        guard try self.needsWork(connection, migrates: migrates) else { return }
        if try self.needsMigration(connection, migrates: migrates) { try self.migrate(connection) }
        try self.makeIndexes(connection)
    }

    /// Returns whether the tables need work before use.
    func needsWork(_ connection: PostgresConnection, migrates: Bool) throws -> Bool {
        let encoding = try connection.run("SELECT current_setting('server_encoding')", [], .none)[0].text(0)
        guard encoding == "UTF8" else { throw Mismatch.encoding }
        if try self.needsMigration(connection, migrates: migrates) { return true }
        return try migrates && !self.missingIndexes(connection).isEmpty
    }

    private func migrate(_ connection: PostgresConnection) throws {
        try connection.transaction { transaction in
            try transaction.run(Self.lock, [.text(self.name)])
            try transaction.run(Self.patience)
            let schema = PostgresConnection.quotedName(self.name)
            // `IF NOT EXISTS` would require the right to create schemas even if the schema exists.
            if try !transaction.run("SELECT to_regnamespace($1) IS NOT NULL", [.text(schema)])[0].boolean(0) {
                try transaction.run("CREATE SCHEMA \(schema)")
            }
            try transaction.run(
                """
                CREATE TABLE IF NOT EXISTS schema_version (
                    version int8 PRIMARY KEY,
                    oldest_reader int8 NOT NULL,
                    made_at timestamptz NOT NULL DEFAULT now()
                )
                """
            )
            // Another node may have migrated.
            let version = try transaction.run("SELECT coalesce(max(version), 0) FROM schema_version")[0].integer(0)
            for (index, step) in self.steps.enumerated() where Self.firstVersion + Int64(index) > version {
                for statement in step.statements { try transaction.run(statement) }
                // No node writes to tables being created.
                if version == 0 { for index in step.indexes { try transaction.run(self.creation(of: index)) } }
                try transaction.run(
                    "INSERT INTO schema_version (version, oldest_reader) VALUES ($1, $2)",
                    [.integer(Self.firstVersion + Int64(index)), .integer(step.oldestReader)]
                )
            }
        }
    }

    private func needsMigration(_ connection: PostgresConnection, migrates: Bool) throws -> Bool {
        let exists = try connection.run(
            "SELECT to_regclass($1) IS NOT NULL",
            [.text(PostgresConnection.quotedName(self.name) + ".schema_version")],
            .none
        )[0].boolean(0)
        guard exists else {
            guard migrates else { throw Mismatch.missing }
            return true
        }
        let newest = try connection.run(
            "SELECT version, oldest_reader FROM schema_version ORDER BY version DESC LIMIT 1",
            [],
            .none
        ).first
        guard let newest else { return true }
        guard try newest.integer(1) <= self.currentVersion else {
            throw Mismatch.newer(version: try newest.integer(0))
        }
        guard try newest.integer(0) >= Self.firstVersion else {
            throw Mismatch.older(version: try newest.integer(0))
        }
        guard try newest.integer(0) < self.currentVersion else { return false }
        guard migrates else { throw Mismatch.missing }
        return true
    }
}

// Indexes of tables in use.
extension PostgresSchema {
    private func creation(of index: Index, _ manner: String = "") -> String {
        let table = PostgresConnection.quotedName(self.name) + "." + index.table
        return "CREATE INDEX \(manner) \(index.name) ON \(table) \(index.columns)"
    }

    private func missingIndexes(_ connection: PostgresConnection) throws -> [Index] {
        let indexes = self.steps.flatMap(\.indexes)
        let names = try connection.run(
            """
            SELECT relname::text FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
            WHERE indisvalid AND relnamespace = to_regnamespace($1) AND relname = ANY ($2::text[])
            """,
            [.text(PostgresConnection.quotedName(self.name)), .texts(indexes.map(\.name))],
            .none
        ).map { try $0.text(0) }
        return indexes.filter { !names.contains($0.name) }
    }

    /// Creates missing indexes, on one node at a time. The others do not wait; without an index some calls are slower. Not behind
    /// a session-sharing pooler, which would keep the lock.
    private func makeIndexes(_ connection: PostgresConnection) throws {
        let missing = try self.missingIndexes(connection)
        guard !missing.isEmpty, connection.ownsSession else { return }
        let name = "hashtextextended('mobile-token indexes ' || $1, 0)"
        // Waiting for the lock would block the index creation itself.
        let isFirst = try connection.run("SELECT pg_try_advisory_lock(\(name))", [.text(self.name)])[0].boolean(0)
        guard isFirst else { return }
        defer { _ = try? connection.run("SELECT pg_advisory_unlock(\(name))", [.text(self.name)]) }
        for index in missing {
            // An invalid index of an interrupted attempt is unused and in the way.
            let place = PostgresConnection.quotedName(self.name) + "." + index.name
            try connection.runAlone("DROP INDEX CONCURRENTLY IF EXISTS \(place)")
            try connection.runAlone(self.creation(of: index, "CONCURRENTLY"))
        }
    }
}

extension PostgresSchema {
    static let steps = [
        Step(
            statements: [
                // Settings of the whole store.
                "CREATE TABLE setting (name text COLLATE \"C\" PRIMARY KEY, value bytea NOT NULL)",
                // The sealing keys in use. The check value identifies a key without revealing it.
                """
                CREATE TABLE sealing_key (
                    number int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                    key_check bytea NOT NULL,
                    added_at timestamptz NOT NULL DEFAULT now()
                )
                """,
                // The epochs of the database; a restore begins a new one. See `DatabaseEpoch`.
                """
                CREATE TABLE incarnation (
                    number int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                    system_identifier text NOT NULL,
                    timeline text NOT NULL,
                    reason text NOT NULL,
                    begun_at timestamptz NOT NULL DEFAULT clock_timestamp()
                )
                """,
                // The living nodes; any node deletes expired ones. `newest_format` is the latest activation format that a node
                // reads.
                """
                CREATE TABLE node (
                    number int8 PRIMARY KEY,
                    name text NOT NULL,
                    joined_at timestamptz NOT NULL DEFAULT clock_timestamp(),
                    expires_at timestamptz NOT NULL,
                    polls boolean NOT NULL DEFAULT false,
                    newest_format int8 NOT NULL DEFAULT 1
                ) WITH (fillfactor = 50)
                """,
                // One narrow row per activation, because every signature writes it. A change requires an unchanged `tag`, which
                // identifies the last change. `holder` is the node that may sign, and `format` the format that nodes must read;
                // see `RecordFormat`.
                """
                CREATE TABLE activation (
                    slot int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                    activation_id text COLLATE "C" NOT NULL UNIQUE,
                    tag int8 NOT NULL,
                    holder int8,
                    incarnation int8 NOT NULL,
                    sealing_key int8 NOT NULL REFERENCES sealing_key,
                    format int8 NOT NULL
                ) WITH (fillfactor = 70)
                """,
                "CREATE INDEX activation_format ON activation (format)",
                // One row per value, so that a counter's move writes only one more small row.
                """
                CREATE TABLE field (
                    slot int8 NOT NULL REFERENCES activation ON DELETE CASCADE,
                    name text COLLATE "C" NOT NULL,
                    is_sealed boolean NOT NULL,
                    value bytea NOT NULL,
                    PRIMARY KEY (slot, name)
                ) WITH (fillfactor = 70)
                """,
                // Queried by every node each second.
                "CREATE INDEX field_upgrading ON field (slot) WHERE name = 'pending-confirmation'",
                // The nodes that wait for another node's right to sign, in order of arrival.
                """
                CREATE TABLE wish (
                    number int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                    slot int8 NOT NULL REFERENCES activation ON DELETE CASCADE,
                    node int8 NOT NULL REFERENCES node ON DELETE CASCADE,
                    UNIQUE (slot, node)
                )
                """,
                "CREATE INDEX wish_node ON wish (node)",
                // Receipt entries. Numbers without gaps are assigned at the first reading, because a counter in each decision
                // would serialize all commits. An outcome names its intent, and an intent its latest outcome with its weight. No
                // foreign keys: deletion would search all rows. A twentieth of the table may wait for vacuum.
                """
                CREATE TABLE receipt (
                    id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                    number int8 UNIQUE,
                    activation_id text COLLATE "C" NOT NULL,
                    moves int8 NOT NULL,
                    tag int8 NOT NULL,
                    date int8 NOT NULL,
                    intent int8,
                    outcome int8,
                    weight int8 NOT NULL,
                    sealing_key int8 NOT NULL REFERENCES sealing_key,
                    body bytea NOT NULL,
                    personal_data bytea
                ) WITH (autovacuum_vacuum_scale_factor = 0.05)
                """,
                // The few intents with an outcome that may be replaced.
                """
                CREATE INDEX receipt_open ON receipt (activation_id, moves)
                WHERE intent IS NULL AND weight < \(DecisionOutcome.Result.finalWeight)
                """,
                "CREATE INDEX receipt_unnumbered ON receipt (id) WHERE number IS NULL",
                "CREATE INDEX receipt_of_activation ON receipt (activation_id, number)",
                // Lists that nodes of 1.0.0-beta.1 share; see the last step.
                """
                CREATE TABLE list (
                    slot int8 PRIMARY KEY REFERENCES activation ON DELETE CASCADE,
                    version int8 NOT NULL,
                    fence int8 NOT NULL,
                    written_by int8 NOT NULL,
                    sealing_key int8 NOT NULL REFERENCES sealing_key,
                    body bytea NOT NULL
                ) WITH (fillfactor = 50)
                """,
                "CREATE INDEX list_written_by ON list (written_by, slot)",
                // The greatest number given to a node, so that numbers grow whatever the clock says.
                "CREATE TABLE fence (last int8 NOT NULL)",
                "INSERT INTO fence VALUES (0)",
                // The buckets, and the nodes that poll them.
                """
                CREATE TABLE bucket (
                    number int8 PRIMARY KEY,
                    owner int8 REFERENCES node ON DELETE SET NULL
                ) WITH (fillfactor = 50)
                """,
                "INSERT INTO bucket (number) SELECT generate_series(0, 63)",
            ],
            indexes: [
                // For resealing, erasing and deleting any number of receipts in small steps.
                Index(name: "receipt_sealed", table: "receipt", columns: "(sealing_key, id)"),
                Index(name: "receipt_personal", table: "receipt", columns: "(date) WHERE personal_data IS NOT NULL"),
                Index(name: "receipt_of_intent", table: "receipt", columns: "(intent) WHERE intent IS NOT NULL"),
            ],
            oldestReader: Self.firstVersion
        ),
        // The ledgers of desks; nodes do not use them.
        Step(
            statements: [
                // One row per audience. The check value identifies the key of its questions.
                """
                CREATE TABLE ledger (
                    audience bytea PRIMARY KEY,
                    key_check bytea,
                    adoptions int8 NOT NULL DEFAULT 0
                )
                """,
                // A change requires an unchanged `tag`. `incarnation` is the epoch in which the question was drafted.
                """
                CREATE TABLE question (
                    key bytea PRIMARY KEY,
                    audience bytea NOT NULL REFERENCES ledger,
                    state text COLLATE "C" NOT NULL,
                    incarnation bytea NOT NULL,
                    tag int8 NOT NULL,
                    needs_attention boolean NOT NULL,
                    asked int8 NOT NULL,
                    content bytea NOT NULL
                ) WITH (fillfactor = 70)
                """,
                "CREATE INDEX question_attention ON question (audience, key) WHERE needs_attention",
                "CREATE INDEX question_state ON question (audience, state, key)",
                // The people that each question asks, as digests.
                """
                CREATE TABLE asked (
                    person bytea NOT NULL,
                    at int8 NOT NULL,
                    key bytea NOT NULL REFERENCES question ON DELETE CASCADE,
                    PRIMARY KEY (person, at, key)
                )
                """,
                // The acting desks' claims, and when they expire without a heartbeat.
                """
                CREATE TABLE claim (
                    token int8 PRIMARY KEY,
                    expires_at timestamptz NOT NULL
                ) WITH (fillfactor = 50)
                """,
            ],
            oldestReader: Self.firstVersion
        ),
        // The questions with a begun action, apart from their rows, so that a restored one does not begin again.
        Step(statements: ["CREATE TABLE begun (key bytea PRIMARY KEY)"], oldestReader: Self.firstVersion),
        // Lists are no longer shared. A node of 1.0.0-beta.1 continues polling and deciding, and reports that it cannot share.
        Step(statements: ["DROP TABLE IF EXISTS list"], oldestReader: Self.firstVersion),
        // The charges to limits: for each key, what was charged up to each minute. The empty key has the latest restore.
        Step(
            statements: [
                """
                CREATE TABLE charge (
                    key text COLLATE "C",
                    minute int8,
                    agents int8 NOT NULL,
                    people int8 NOT NULL,
                    PRIMARY KEY (key, minute)
                ) WITH (fillfactor = 50)
                """,
                "ALTER TABLE receipt ADD COLUMN charges text",
                "ALTER TABLE receipt ADD COLUMN is_released boolean NOT NULL DEFAULT false",
            ],
            oldestReader: Self.firstVersion
        ),
    ]
}
