import DecisionReceipts
import Foundation
import PostgresDatabase
import PowerAuthClient

/// Receipts as rows, and their statements. Their content is sealed; whether they are open is not.
enum StoredReceipts {
    /// The maximum number of entries that one transaction numbers, erases or deletes: some hundredths of a second's work.
    static let batch: Int64 = 1_000
    /// The maximum number of entries per statement.
    static let largestPage = 1_000
    /// The maximum number of open intents per statement.
    static let pageSize = 100

    /// The columns of an intent or entry `i`, and of an outcome `o`.
    private static let columns = "coalesce(i.number, 0), " + Self.columnsWithoutNumber
    private static let columnsWithoutNumber = """
        intent.number, i.sealing_key, i.activation_id, i.moves, i.date, i.body, i.personal_data, i.tag,
        o.sealing_key, o.activation_id, o.moves, o.date, o.body
        """

    static func read(_ results: [PostgresRows]) throws -> [ReceiptRow] {
        guard let rows = results.last else { throw PostgresError(.unexpectedResult) }
        return try rows.map { row in
            ReceiptRow(
                number: UInt64(clamping: try row.integer(0)),
                tag: WriteTag(rawValue: try row.integer(8)),
                intent: row.isNull(1) ? nil : UInt64(clamping: try row.integer(1)),
                key: try row.integer(2),
                sealed: SealedReceipt(
                    activationID: try row.text(3),
                    moves: UInt64(clamping: try row.integer(4)),
                    date: Date(millisecondsSince1970: try row.integer(5)),
                    body: try row.bytes(6),
                    personalData: row.isNull(7) ? nil : try row.bytes(7)
                ),
                outcome: row.isNull(9) ? nil : try self.outcome(row, at: 9)
            )
        }
    }

    private static func outcome(_ row: PostgresRow, at column: Int32) throws -> ReceiptRow.Outcome {
        ReceiptRow.Outcome(
            key: try row.integer(column),
            sealed: SealedReceipt(
                activationID: try row.text(column + 1),
                moves: UInt64(clamping: try row.integer(column + 2)),
                date: Date(millisecondsSince1970: try row.integer(column + 3)),
                body: try row.bytes(column + 4),
                personalData: nil
            )
        )
    }

    static let decidedWeight = DecisionOutcome.Result.decidedWeight
    static let finalWeight = DecisionOutcome.Result.finalWeight

    /// The second bound is the index's own.
    private static let isOpen =
        "i.intent IS NULL AND i.weight < \(Self.decidedWeight) AND i.weight < \(Self.finalWeight)"

    // MARK: Reading

    /// - Parameter activationID: The activation; `nil` for all.
    static func open(of activationID: String?) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT \(self.columns) FROM receipt AS i
            LEFT JOIN receipt AS intent ON false LEFT JOIN receipt AS o ON o.id = i.outcome
            WHERE \(activationID == nil ? "" : "i.activation_id = $1 AND ")\(self.isOpen) ORDER BY i.id
            """,
            activationID.map { [.text($0)] } ?? []
        )
    }

    static func entries(after number: UInt64, limit: Int) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT \(self.columns) FROM receipt AS i
            LEFT JOIN receipt AS intent ON intent.id = i.intent LEFT JOIN receipt AS o ON false
            WHERE i.number > $1 ORDER BY i.number LIMIT $2
            """,
            [.integer(Int64(clamping: number)), .integer(Int64(clamping: max(0, limit)))]
        )
    }

    static func receipts(of activationID: String?, after number: UInt64, limit: Int) -> PostgresStatement {
        // Separate statements, so that each can use its index.
        let selection = activationID == nil ? "$3::text IS NULL" : "i.activation_id = $3"
        return PostgresStatement(
            """
            SELECT \(self.columns) FROM receipt AS i
            LEFT JOIN receipt AS intent ON false LEFT JOIN receipt AS o ON o.id = i.outcome
            WHERE i.intent IS NULL AND i.number > $1 AND \(selection) ORDER BY i.number LIMIT $2
            """,
            [
                .integer(Int64(clamping: number)), .integer(Int64(clamping: max(0, limit))),
                PostgresValue(activationID),
            ]
        )
    }

    /// Finds entries sealed with a key, after one of them. Their row identifiers take the place of numbers.
    static func sealed(with key: Int64, after id: UInt64, limit: Int) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT id, intent, sealing_key, activation_id, moves, date, body, personal_data, tag, NULL FROM receipt
            WHERE sealing_key = $1 AND id > $2 ORDER BY id LIMIT $3
            """,
            [.integer(key), .integer(Int64(clamping: id)), .integer(Int64(limit))]
        )
    }

    /// Replaces entries by themselves under another key. Personal data erased meanwhile must not return.
    static func resealing(_ entries: [(id: UInt64, sealed: SealedReceipt)], with key: Int64) -> PostgresStatement {
        PostgresStatement(
            """
            UPDATE receipt SET sealing_key = $1, body = sealed.body,
                personal_data = CASE WHEN receipt.personal_data IS NOT NULL THEN sealed.personal_data END
            FROM unnest($2::int8[], $3::bytea[], $4::bytea[]) AS sealed (id, body, personal_data)
            WHERE receipt.id = sealed.id
            """,
            [
                .integer(key), .integers(entries.map { Int64(clamping: $0.id) }),
                .byteStrings(entries.map(\.sealed.body)), .byteStrings(entries.map(\.sealed.personalData)),
            ]
        )
    }

    // MARK: Numbering

    /// Numbers some entries; returns `false` if there were none.
    static func numberSome(_ connection: PostgresConnection) throws -> Bool {
        guard try connection.run([self.hasUnnumbered], .none).first?.first?.boolean(0) == true else { return false }
        try connection.run(self.numbering)
        return true
    }

    private static let hasUnnumbered = PostgresStatement("SELECT EXISTS (SELECT FROM receipt WHERE number IS NULL)")

    /// Numbers the oldest unnumbered entries, on one node at a time. Visible entries are committed, and later commits get later
    /// numbers. An outcome is written after its intent's commit, so it never precedes it.
    static let numbering = [
        PostgresStatement("SELECT pg_advisory_xact_lock('receipt'::regclass::oid::int8)"),
        PostgresStatement(
            """
            WITH last AS (SELECT coalesce(max(number), 0) AS number FROM receipt),
            oldest AS (SELECT id FROM receipt WHERE number IS NULL ORDER BY id LIMIT \(Self.batch)),
            fresh AS (SELECT id, row_number() OVER (ORDER BY id) AS place FROM oldest)
            UPDATE receipt SET number = last.number + fresh.place FROM last, fresh WHERE receipt.id = fresh.id
            """
        ),
    ]

    // MARK: Writing

    /// Adds an outcome to its intent if it weighs more than the latest one, or the same and is open. Returns a row if added.
    ///
    /// - Parameter changesCharges: `true` if it may take the charges back, or make them again; needs ``StoredLimits/lock``. Otherwise
    ///   it adds nothing to an intent whose charges are taken back.
    static func insertion(_ outcome: SealedOutcome, changesCharges: Bool) -> PostgresStatement {
        let isOfTag = outcome.tag == nil ? "$7::int8 IS NULL" : "tag = $7"
        return PostgresStatement(
            """
            WITH intent AS (
                SELECT id, tag, charges, is_released FROM receipt
                WHERE activation_id = $1 AND moves = $2 AND intent IS NULL AND weight < \(self.finalWeight) AND \(isOfTag)
                    AND (weight < $6 OR weight = $6 AND $6 < \(self.decidedWeight))\(changesCharges ? "" : " AND NOT is_released")
                ORDER BY id DESC LIMIT 1 FOR UPDATE
            ), new AS (
                INSERT INTO receipt (activation_id, moves, tag, date, intent, weight, sealing_key, body)
                SELECT $1, $2, tag, $3, id, $6, $4, $5 FROM intent RETURNING id
            )\(changesCharges ? ", " + StoredLimits.releasing("$8") : "")
            UPDATE receipt SET outcome = new.id, weight = $6, is_released = $8 FROM new, intent WHERE receipt.id = intent.id
            RETURNING receipt.id
            """,
            [
                .text(outcome.sealed.activationID), .integer(Int64(clamping: outcome.sealed.moves)),
                .integer(outcome.sealed.date.milliseconds), .integer(outcome.key), .bytes(outcome.sealed.body),
                .integer(Int64(outcome.weight)), PostgresValue(outcome.tag?.rawValue),
                .boolean(outcome.releasesCharges),
            ]
        )
    }

    static func insertion(intent: SealedReceipt, tag: WriteTag, key: Int64) -> PostgresStatement {
        PostgresStatement(
            """
            INSERT INTO receipt (activation_id, moves, tag, date, weight, sealing_key, body, personal_data)
            SELECT $1, $2, $3, $4, 0, $5, $6, $7 WHERE NOT EXISTS (
                SELECT FROM receipt WHERE activation_id = $1 AND moves = $2 AND tag = $3 AND intent IS NULL
            ) RETURNING id
            """,
            [
                .text(intent.activationID), .integer(Int64(clamping: intent.moves)), .integer(tag.rawValue),
                .integer(intent.date.milliseconds), .integer(key), .bytes(intent.body),
                PostgresValue(intent.personalData),
            ]
        )
    }

    // MARK: Erasing

    /// Separate statements per kind of selection, so that each can use its index.
    private static func condition(_ selection: ReceiptSelection) -> (sql: String, value: [PostgresValue]) {
        var (terms, values) = (["i.intent IS NULL", "i.personal_data IS NOT NULL"], [PostgresValue]())
        if let id = selection.activationID {
            values.append(.text(id))
            terms.append("i.activation_id = $\(values.count)")
        }
        if let date = selection.decidedBefore {
            values.append(.integer(date.milliseconds))
            terms.append("i.date < $\(values.count)")
        }
        return (terms.joined(separator: " AND "), values)
    }

    /// Returns the selection's open intents after one of them. Their row identifiers take the place of numbers.
    static func openIntents(in selection: ReceiptSelection, after id: UInt64) -> PostgresStatement {
        let (condition, values) = self.condition(selection)
        return PostgresStatement(
            """
            SELECT i.id, \(self.columnsWithoutNumber) FROM receipt AS i
            LEFT JOIN receipt AS intent ON false LEFT JOIN receipt AS o ON false
            WHERE \(self.isOpen) AND i.id > $\(values.count + 1) AND \(condition) ORDER BY i.id LIMIT \(self.pageSize)
            """,
            values + [.integer(Int64(clamping: id))]
        )
    }

    /// Erases the personal data of some receipts that are not open, and returns their number.
    static func erasure(of selection: ReceiptSelection) -> PostgresStatement {
        let (condition, values) = self.condition(selection)
        let order = selection.activationID == nil ? "ORDER BY i.date" : ""
        return PostgresStatement(
            """
            WITH part AS (
                SELECT id FROM receipt AS i WHERE \(condition) AND i.weight >= \(self.decidedWeight) \(order) LIMIT \(self.batch)
            ), erased AS (
                UPDATE receipt SET personal_data = NULL FROM part
                WHERE receipt.id = part.id AND personal_data IS NOT NULL RETURNING 1
            )
            SELECT count(*) FROM erased
            """,
            values
        )
    }
}
