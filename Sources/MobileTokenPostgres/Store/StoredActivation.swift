import PostgresDatabase
import PowerAuth

/// An activation as one statement found it.
struct StoredActivation: Sendable {
    /// The number that stands for it in the tables, and in the file of marks.
    let slot: Int64
    /// Every change makes another one.
    let version: Int64
    /// Tells whose change was the last one.
    let writeToken: Int64
    /// The node that may sign, if its seat is still there.
    let holder: Int64?
    /// The life of the database in which the counter was last known not to have been put back.
    let incarnation: Int64
    /// The life of the database in which this was read.
    let currentIncarnation: Int64
    /// The key that all sealed fields are sealed with.
    let sealingKey: Int64
    /// The form that the other nodes take it for.
    let format: RecordFormat
    let sealed: SealedActivation

    /// Whether the counter may have been put back since it was last compared with the server's.
    var wasPutBack: Bool { self.incarnation != self.currentIncarnation }

    static func query(_ activationID: String) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT slot, version, write_token, (SELECT number FROM node WHERE number = holder), incarnation, (SELECT max(number) FROM incarnation),
                sealing_key, field.name, is_sealed, field.value, format
            FROM activation LEFT JOIN field USING (slot) WHERE activation_id = $1
            """,
            [.text(activationID)]
        )
    }

    /// - Returns: `nil` when there is no row.
    init?(_ activationID: String, _ rows: PostgresRows) throws {
        guard let first = rows.first else { return nil }
        self.slot = try first.integer(0)
        self.version = try first.integer(1)
        self.writeToken = try first.integer(2)
        self.holder = first.isNull(3) ? nil : try first.integer(3)
        self.incarnation = try first.integer(4)
        self.currentIncarnation = try first.integer(5)
        self.sealingKey = try first.integer(6)
        self.format = RecordFormat(rawValue: try first.integer(10))
        let fields =
            first.isNull(7)
            ? []
            : try rows.map { row in
                SealedActivation.Field(name: try row.text(7), isSealed: try row.boolean(8), bytes: try row.bytes(9))
            }
        self.sealed = SealedActivation(activationID: activationID, fields: fields)
    }

    private init(_ before: StoredActivation, _ change: ActivationChange) {
        self.slot = before.slot
        self.version = before.version &+ 1
        self.writeToken = change.writeToken
        self.holder = before.holder
        self.incarnation = change.incarnation
        self.currentIncarnation = before.currentIncarnation
        self.sealingKey = before.sealingKey
        self.format = change.format ?? before.format
        self.sealed = before.sealed.applying(change.fields)
    }

    /// The activation as a change leaves it.
    func applying(_ change: ActivationChange) -> Self { Self(self, change) }
}

/// What one change of an activation writes, in one statement.
struct ActivationChange: Sendable {
    let activationID: String
    let slot: Int64
    /// The version that the change was made of: when it is another one, nothing is written.
    let version: Int64
    /// The token of that version. A database that was put back counts its versions again, but makes no token twice.
    let lastToken: Int64
    /// The life of the database in which it was read: in another one nothing is written.
    let life: Int64
    /// The node that must have the right to sign; `nil` for a change that needs no such right.
    let holder: Int64?
    let writeToken: Int64
    let incarnation: Int64
    let fields: SealedActivation.Changes
    let intent: SealedReceipt?
    let sealingKey: Int64
    /// The form that the activation gets; `nil` when it stays. A later one than before is written only when all nodes that are
    /// alive read it.
    let format: RecordFormat?
    /// Whether it is not to be made while automatic decisions are paused.
    let heedsPause: Bool

    /// Writes all of it or nothing, as ``statement`` tells, in one transaction.
    var statements: [PostgresStatement] { [self.statement] + (self.heedsPause ? StoredPause.confirmation : []) }

    /// Writes all of it or, when another node was quicker, nothing.
    ///
    /// The row of the activation is what two changes meet at: the second waits for the first, and then finds another version.
    /// What the change does not need is not in the statement, so that the usual one, of a counter, costs the server the least.
    /// Returns whether it was written.
    private var statement: PostgresStatement {
        var values: [PostgresValue] = [
            .integer(self.slot), .integer(self.version), .integer(self.writeToken), .integer(self.incarnation),
            .integer(self.lastToken), .integer(self.life),
        ]
        func parameter(_ value: PostgresValue) -> String {
            values.append(value)
            return "$\(values.count)"
        }
        var changes = "version = version + 1, write_token = $3, incarnation = $4"
        var conditions = "slot = $1 AND version = $2 AND write_token = $5 AND \(Incarnation.isCurrent("$6"))"
        if let holder {
            let number = parameter(.integer(holder))
            conditions += " AND holder = \(number) AND EXISTS (SELECT FROM node WHERE number = \(number))"
        }
        if self.heedsPause { conditions += " AND \(StoredPause.isAbsent)" }
        if let format {
            let number = parameter(.integer(format.rawValue))
            changes += ", format = \(number)"
            conditions += " AND (\(number) <= format OR NOT EXISTS (\(OlderNodes.query(number))))"
        }
        var sql = "WITH moved AS (UPDATE activation SET \(changes) WHERE \(conditions) RETURNING slot)"
        if !self.fields.written.isEmpty {
            let columns = [
                parameter(.texts(self.fields.written.map(\.name))) + "::text[]",
                parameter(.booleans(self.fields.written.map(\.isSealed))) + "::bool[]",
                parameter(.byteStrings(self.fields.written.map(\.bytes))) + "::bytea[]",
            ]
            sql += """
                , written AS (
                    INSERT INTO field (slot, name, is_sealed, value)
                    SELECT moved.slot, change.* FROM moved, unnest(\(columns.joined(separator: ", "))) AS change
                    ON CONFLICT (slot, name) DO UPDATE SET is_sealed = excluded.is_sealed, value = excluded.value
                )
                """
        }
        if !self.fields.removed.isEmpty {
            let names = parameter(.texts(self.fields.removed))
            sql += """
                , removed AS (
                    DELETE FROM field USING moved WHERE field.slot = moved.slot AND field.name = ANY (\(names)::text[])
                )
                """
        }
        if let intent {
            let columns = [
                parameter(.text(self.activationID)) + "::text",
                parameter(.integer(Int64(clamping: intent.moves))) + "::int8",
                parameter(.integer(intent.date.milliseconds)) + "::int8", "true",
                parameter(.integer(self.sealingKey)) + "::int8", parameter(.bytes(intent.body)) + "::bytea",
                parameter(PostgresValue(intent.personalData)) + "::bytea",
            ]
            sql += """
                , recorded AS (
                    INSERT INTO receipt (activation_id, moves, date, is_open, sealing_key, body, personal_data)
                    SELECT \(columns.joined(separator: ", ")) FROM moved
                )
                """
        }
        return PostgresStatement(sql + " SELECT EXISTS (SELECT FROM moved)", values)
    }
}
