import DecisionReceipts
import PostgresDatabase
import PowerAuthClient

/// Activations as rows, and their statements.
enum StoredActivation {
    static func query(_ activationID: String) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT slot, tag, (SELECT number FROM node WHERE number = holder), incarnation, (SELECT max(number) FROM incarnation),
                sealing_key, format, (SELECT value FROM setting WHERE name = '\(StoredPause.name)'),
                field.name, is_sealed, field.value
            FROM activation LEFT JOIN field USING (slot) WHERE activation_id = $1
            """,
            [.text(activationID)]
        )
    }

    /// - Returns: `nil` if there is no row.
    static func read(_ activationID: String, _ results: [PostgresRows]) throws -> LoadedRow? {
        guard let rows = results.last, let first = rows.first else { return nil }
        let fields =
            first.isNull(8)
            ? []
            : try rows.map { row in
                SealedActivation.Field(name: try row.text(8), isSealed: try row.boolean(9), bytes: try row.bytes(10))
            }
        return LoadedRow(
            slot: try first.integer(0),
            tag: WriteTag(rawValue: try first.integer(1)),
            holder: first.isNull(2) ? nil : try first.integer(2),
            key: try first.integer(5),
            sealed: SealedActivation(activationID: activationID, fields: fields),
            format: RecordFormat(rawValue: try first.integer(6)),
            pause: first.isNull(7) ? nil : StoredPause.read(try first.bytes(7)),
            epoch: try first.integer(4),
            comparedEpoch: try first.integer(3)
        )
    }

    /// Adds an activation, and returns its slot.
    static func insertion(of row: NewRow) -> PostgresStatement {
        let fields = row.sealed.fields
        return PostgresStatement(
            """
            WITH new AS (
                INSERT INTO activation (activation_id, tag, incarnation, sealing_key, format)
                SELECT $1, $2, max(number), $3, $7 FROM incarnation RETURNING slot
            ), written AS (
                INSERT INTO field (slot, name, is_sealed, value)
                SELECT new.slot, field.* FROM new, unnest($4::text[], $5::bool[], $6::bytea[]) AS field
            )
            SELECT slot FROM new
            """,
            [
                .text(row.sealed.activationID), .integer(row.tag.rawValue), .integer(row.key),
                .texts(fields.map(\.name)), .booleans(fields.map(\.isSealed)), .byteStrings(fields.map(\.bytes)),
                .integer(row.format.rawValue),
            ]
        )
    }
}

extension RowChange {
    /// Writes all of it or, when another node was quicker, nothing.
    ///
    /// The row of the activation is what two changes meet at: the second waits for the first, and then finds another tag.
    /// What the change does not need is not in the statement, so that the usual one, of a counter, costs the server the least.
    /// Returns whether it was written.
    ///
    /// - Parameter isCharged: `true` if another statement charges the limits for it and others, in the same transaction. Then this one
    ///   fails if it was not written, because the charges are made for it.
    func statement(chargedWithOthers isCharged: Bool = false) -> PostgresStatement {
        var values: [PostgresValue] = [
            .integer(self.slot), .integer(self.tag.rawValue), .integer(self.newTag.rawValue),
            .integer(self.comparedEpoch), .integer(self.epoch), .integer(self.key),
        ]
        func parameter(_ value: PostgresValue) -> String {
            values.append(value)
            return "$\(values.count)"
        }
        var changes = "tag = $3, incarnation = $4, sealing_key = $6"
        var conditions = "slot = $1 AND tag = $2 AND \(DatabaseEpoch.isCurrent("$5"))"
        if let fence {
            // An expired lease still counts: before its row is deleted no other node can take the right, and taking it writes the
            // row that this statement locks. So either the other node finds the swap, or this finds another holder.
            let number = parameter(.integer(fence))
            conditions += " AND holder = \(number) AND EXISTS (SELECT FROM node WHERE number = \(number))"
        }
        if let charges, !isCharged { conditions += " AND " + StoredLimits.areWithin(charges.checks, parameter) }
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
                parameter(.integer(Int64(clamping: intent.moves))) + "::int8", "$3::int8",
                parameter(.integer(intent.date.milliseconds)) + "::int8", "0",
                "$6::int8", parameter(.bytes(intent.body)) + "::bytea",
                parameter(PostgresValue(intent.personalData)) + "::bytea",
                self.charges == nil ? "NULL" : parameter(PostgresValue(intent.charges)) + "::text",
            ]
            sql += """
                , recorded AS (
                    INSERT INTO receipt (activation_id, moves, tag, date, weight, sealing_key, body, personal_data, charges)
                    SELECT \(columns.joined(separator: ", ")) FROM moved
                )
                """
        }
        if isCharged { return PostgresStatement(sql + " SELECT 1 / count(*) = 1 FROM moved", values) }
        if let charges { sql += ", " + StoredLimits.charging(charges.entries, of: "moved, ", parameter) }
        return PostgresStatement(sql + " SELECT EXISTS (SELECT FROM moved)", values)
    }
}
