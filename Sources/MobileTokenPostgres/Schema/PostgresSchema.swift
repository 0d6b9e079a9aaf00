import PostgresDatabase
import PowerAuth

/// The tables, version by version.
///
/// A step that was released is never edited. Each step only adds, so that nodes of the version before go on working; what it
/// makes superfluous is dropped a release later, when no node uses it any more.
struct PostgresSchema: Sendable {
    /// The namespace of all tables.
    let name: String
    /// The steps that this program knows, oldest first.
    var steps = Self.steps

    /// One step: what it does, and the oldest version of this package that can work with the result.
    struct Step: Sendable {
        let statements: [String]
        /// Made after the step, while nodes write to the tables, which takes as long as it takes.
        var indexes: [Index] = []
        let oldestReader: Int64
    }

    /// An index, and what it is on: a table, and columns of it.
    struct Index: Sendable {
        let name: String
        let table: String
        let columns: String
    }

    /// The version that the first step makes. Those before were never released.
    static let firstVersion: Int64 = 10

    var currentVersion: Int64 { Self.firstVersion + Int64(self.steps.count) - 1 }

    /// Keeps nodes that start at once from migrating at once. Freed with its transaction.
    private static let lock = "SELECT pg_advisory_xact_lock(hashtextextended('mobile-token schema ' || $1, 0))"
    /// Limits the wait for the lock of a table: for so long, whoever comes later waits behind it.
    private static let patience = "SELECT set_config('lock_timeout', '200', true)"

    enum Mismatch: Error, Equatable {
        /// There are no tables, and the caller did not ask to make them.
        case missing
        /// A newer package made the tables into something that this one cannot work with.
        case newer(version: Int64)
        /// Tables of a version that was never released.
        case older(version: Int64)
        /// The database stores strings in another encoding than UTF-8.
        case encoding
    }

    /// Checks the tables, and brings them to the current version when they are older.
    ///
    /// - Parameter migrates: `true` if the role may make and change tables.
    /// - Throws: Of kind `timeout` when somebody else uses a table for longer than a moment; to be tried again.
    func prepare(_ connection: PostgresConnection, migrates: Bool) throws {
        guard try self.needsWork(connection, migrates: migrates) else { return }
        if try self.needsMigration(connection, migrates: migrates) { try self.migrate(connection) }
        try self.makeIndexes(connection)
    }

    /// Returns whether there is anything to be done before the tables can be used.
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
            // `IF NOT EXISTS` would ask for the right to make schemas even where there is one.
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
            // Another node may have been quicker.
            let version = try transaction.run("SELECT coalesce(max(version), 0) FROM schema_version")[0].integer(0)
            for (index, step) in self.steps.enumerated() where Self.firstVersion + Int64(index) > version {
                for statement in step.statements { try transaction.run(statement) }
                // Nobody writes to tables that are made in this moment.
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

// Indexes of tables that are in use.
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

    /// Makes what is missing, one node at a time. The others do not wait: without an index, some calls take longer.
    ///
    /// Not behind a pooler that lends the session to others, which would keep the lock.
    private func makeIndexes(_ connection: PostgresConnection) throws {
        let missing = try self.missingIndexes(connection)
        guard !missing.isEmpty, connection.ownsSession else { return }
        let name = "hashtextextended('mobile-token indexes ' || $1, 0)"
        // Whoever waited for it would be waited for.
        let isFirst = try connection.run("SELECT pg_try_advisory_lock(\(name))", [.text(self.name)])[0].boolean(0)
        guard isFirst else { return }
        defer { _ = try? connection.run("SELECT pg_advisory_unlock(\(name))", [.text(self.name)]) }
        for index in missing {
            // An index that an interrupted attempt left is not used, and in the way.
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
                // Settings of the store as a whole.
                "CREATE TABLE setting (name text COLLATE \"C\" PRIMARY KEY, value bytea NOT NULL)",
                // The keys that anything is sealed with. The check recognizes a key, and does not help to find it.
                """
                CREATE TABLE sealing_key (
                    number int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                    key_check bytea NOT NULL,
                    added_at timestamptz NOT NULL DEFAULT now()
                )
                """,
                // The epochs of the database: a restore begins another one. See `DatabaseEpoch`.
                """
                CREATE TABLE incarnation (
                    number int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                    system_identifier text NOT NULL,
                    timeline text NOT NULL,
                    reason text NOT NULL,
                    begun_at timestamptz NOT NULL DEFAULT clock_timestamp()
                )
                """,
                // The nodes that are alive: one that was silent for too long is deleted, by whoever notices. `newest_format` is
                // the latest form of activations that it reads.
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
                // One row an activation, and narrow, for every signature writes it. `tag` is what a change must find unchanged,
                // and names whose change was the last; `holder` is the node that may sign, and `format` the form that nodes must
                // read, see `RecordFormat`.
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
                // One row a value, so that moving a counter writes one more small row.
                """
                CREATE TABLE field (
                    slot int8 NOT NULL REFERENCES activation ON DELETE CASCADE,
                    name text COLLATE "C" NOT NULL,
                    is_sealed boolean NOT NULL,
                    value bytea NOT NULL,
                    PRIMARY KEY (slot, name)
                ) WITH (fillfactor = 70)
                """,
                // Every node asks every second.
                "CREATE INDEX field_upgrading ON field (slot) WHERE name = 'pending-confirmation'",
                // The nodes that wait for the right to sign which another one has, in the order in which they came.
                """
                CREATE TABLE wish (
                    number int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                    slot int8 NOT NULL REFERENCES activation ON DELETE CASCADE,
                    node int8 NOT NULL REFERENCES node ON DELETE CASCADE,
                    UNIQUE (slot, node)
                )
                """,
                "CREATE INDEX wish_node ON wish (node)",
                // Entries of the receipts. Numbers without a gap are given when they are first read, for a counter that every
                // decision increments would make all decisions wait for each other's commit. An outcome names its intent, and
                // an intent its latest outcome and the weight of that; no reference is checked, for to delete one, all others
                // would be looked at. What is deleted makes room for what comes: a twentieth may wait for the vacuum.
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
                // Of the few whose outcome another one may replace.
                """
                CREATE INDEX receipt_open ON receipt (activation_id, moves)
                WHERE intent IS NULL AND weight < \(DecisionOutcome.Result.finalWeight)
                """,
                "CREATE INDEX receipt_unnumbered ON receipt (id) WHERE number IS NULL",
                "CREATE INDEX receipt_of_activation ON receipt (activation_id, number)",
                // The lists of operations, as the nodes that poll them last saw them: one row an activation, written when its list
                // changes. Every write makes a greater `version`, also in a database that was put back, and names its transaction in
                // `written_by`, by which readers find what they have not seen. `fence` is the number of the node that wrote it.
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
                // The greatest number that was given to a node, so that each is greater than those before whatever the clock says.
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
                // These let receipts be resealed, erased and deleted in small steps, however many there are.
                Index(name: "receipt_sealed", table: "receipt", columns: "(sealing_key, id)"),
                Index(name: "receipt_personal", table: "receipt", columns: "(date) WHERE personal_data IS NOT NULL"),
                Index(name: "receipt_of_intent", table: "receipt", columns: "(intent) WHERE intent IS NOT NULL"),
            ],
            oldestReader: Self.firstVersion
        ),
        // The ledgers of those who ask for approvals; nodes have no use for them.
        Step(
            statements: [
                // One row an audience. The check recognizes the key that its questions are sealed with.
                """
                CREATE TABLE ledger (
                    audience bytea PRIMARY KEY,
                    key_check bytea,
                    adoptions int8 NOT NULL DEFAULT 0
                )
                """,
                // `tag` is what a change must find unchanged, and `incarnation` the life of the ledger in which it was drafted.
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
                // Whom each question asks, by digest.
                """
                CREATE TABLE asked (
                    person bytea NOT NULL,
                    at int8 NOT NULL,
                    key bytea NOT NULL REFERENCES question ON DELETE CASCADE,
                    PRIMARY KEY (person, at, key)
                )
                """,
                // Those that act now, and until when they are taken for alive unless they say more.
                """
                CREATE TABLE claim (
                    token int8 PRIMARY KEY,
                    expires_at timestamptz NOT NULL
                ) WITH (fillfactor = 50)
                """,
            ],
            oldestReader: Self.firstVersion
        ),
        // The questions whose action was begun, apart from their rows: one that is put back is not begun again.
        Step(statements: ["CREATE TABLE begun (key bytea PRIMARY KEY)"], oldestReader: Self.firstVersion),
    ]
}
