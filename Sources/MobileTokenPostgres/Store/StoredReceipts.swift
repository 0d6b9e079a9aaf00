import Foundation
import PostgresDatabase
import PowerAuth

/// Receipts as rows, and the statements that read and write them. What they say is sealed; which is open is not.
enum StoredReceipts {
    /// An entry, and the latest outcome where a receipt was asked for.
    struct Row: Sendable {
        let number: UInt64
        /// The number of the intent, when this is an outcome.
        let intent: UInt64?
        let key: Int64
        let sealed: SealedReceipt
        let outcome: Outcome?

        struct Outcome: Sendable {
            let key: Int64
            let sealed: SealedReceipt
        }
    }

    /// How many entries one transaction numbers, erases or deletes at most: some hundredths of a second's work.
    static let batch: Int64 = 1_000

    /// Of an intent `i`, or an entry, and of an outcome `o`.
    private static let columns = "coalesce(i.number, 0), " + Self.columnsWithoutNumber
    private static let columnsWithoutNumber = """
        intent.number, i.sealing_key, i.activation_id, i.moves, i.date, i.body, i.personal_data,
        o.sealing_key, o.activation_id, o.moves, o.date, o.body
        """

    static func read(_ results: [PostgresRows]) throws -> [Row] {
        guard let rows = results.last else { throw PostgresError(.unexpectedResult) }
        return try rows.map { row in
            Row(
                number: UInt64(clamping: try row.integer(0)),
                intent: row.isNull(1) ? nil : UInt64(clamping: try row.integer(1)),
                key: try row.integer(2),
                sealed: SealedReceipt(
                    activationID: try row.text(3),
                    moves: UInt64(clamping: try row.integer(4)),
                    date: Date(milliseconds: try row.integer(5)),
                    body: try row.bytes(6),
                    personalData: row.isNull(7) ? nil : try row.bytes(7)
                ),
                outcome: row.isNull(8) ? nil : try self.outcome(row, at: 8)
            )
        }
    }

    private static func outcome(_ row: PostgresRow, at column: Int32) throws -> Row.Outcome {
        Row.Outcome(
            key: try row.integer(column),
            sealed: SealedReceipt(
                activationID: try row.text(column + 1),
                moves: UInt64(clamping: try row.integer(column + 2)),
                date: Date(milliseconds: try row.integer(column + 3)),
                body: try row.bytes(column + 4),
                personalData: nil
            )
        )
    }

    // MARK: Reading

    static func open(of activationID: String) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT \(self.columns) FROM receipt AS i
            LEFT JOIN receipt AS intent ON false LEFT JOIN receipt AS o ON false
            WHERE i.activation_id = $1 AND i.is_open ORDER BY i.id
            """,
            [.text(activationID)]
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
        // Two statements, so that each has an index of its own.
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

    /// Finds entries that a key has sealed, behind one of them. In place of their number stands their identifier.
    static func sealed(with key: Int64, after id: UInt64, limit: Int) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT id, intent, sealing_key, activation_id, moves, date, body, personal_data, NULL FROM receipt
            WHERE sealing_key = $1 AND id > $2 ORDER BY id LIMIT $3
            """,
            [.integer(key), .integer(Int64(clamping: id)), .integer(Int64(limit))]
        )
    }

    /// Writes the same entries sealed with another key.
    ///
    /// Personal data may have been erased since they were read, and must not come back.
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

    /// Numbers some of what has no number.
    ///
    /// - Returns: `false` when everything has one.
    static func numberSome(_ connection: PostgresConnection) throws -> Bool {
        guard try connection.run([self.hasUnnumbered], .none).first?.first?.boolean(0) == true else { return false }
        try connection.run(self.numbering)
        return true
    }

    private static let hasUnnumbered = PostgresStatement("SELECT EXISTS (SELECT FROM receipt WHERE number IS NULL)")

    /// Numbers the oldest that have none, one node at a time.
    ///
    /// What is seen is committed, and what is committed later gets later numbers; an outcome is written after its intent is
    /// committed, so it never comes before it.
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

    /// Adds what became of an intent, if that is more than what is known: the intent is open, and has no outcome, or one that is
    /// open where this one is not. Returns a row if it was added.
    static func insertion(outcome sealed: SealedReceipt, isOpen: Bool, key: Int64) -> PostgresStatement {
        PostgresStatement(
            """
            WITH intent AS (
                SELECT id FROM receipt WHERE activation_id = $1 AND moves = $2 AND is_open AND (outcome IS NULL OR NOT $6)
                ORDER BY id DESC LIMIT 1 FOR UPDATE
            ), new AS (
                INSERT INTO receipt (activation_id, moves, date, intent, is_open, sealing_key, body)
                SELECT $1, $2, $3, id, false, $4, $5 FROM intent RETURNING id
            )
            UPDATE receipt SET outcome = new.id, is_open = $6 FROM new, intent WHERE receipt.id = intent.id
            RETURNING receipt.id
            """,
            self.values(sealed, isOpen: isOpen, key: key)
        )
    }

    /// An intent, and its latest outcome; 0 when it has none.
    struct Place: Sendable {
        let intent: Int64
        let outcome: Int64
    }

    /// Adds what became of an intent whatever is known of it, if that is still the same. Returns a row if it was added.
    static func insertion(outcome sealed: SealedReceipt, isOpen: Bool, key: Int64, after place: Place)
        -> PostgresStatement
    {
        PostgresStatement(
            """
            WITH intent AS (
                SELECT id FROM receipt WHERE id = $7 AND coalesce(outcome, 0) = $8 FOR UPDATE
            ), new AS (
                INSERT INTO receipt (activation_id, moves, date, intent, is_open, sealing_key, body)
                SELECT $1, $2, $3, id, false, $4, $5 FROM intent RETURNING id
            )
            UPDATE receipt SET outcome = new.id, is_open = $6 FROM new, intent WHERE receipt.id = intent.id
            RETURNING receipt.id
            """,
            self.values(sealed, isOpen: isOpen, key: key) + [.integer(place.intent), .integer(place.outcome)]
        )
    }

    private static func values(_ sealed: SealedReceipt, isOpen: Bool, key: Int64) -> [PostgresValue] {
        [
            .text(sealed.activationID), .integer(Int64(clamping: sealed.moves)), .integer(sealed.date.milliseconds),
            .integer(key), .bytes(sealed.body), .boolean(isOpen),
        ]
    }

    /// Finds what is known of the intent of a move.
    static func known(ofMove moves: UInt64, of activationID: String) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT i.id, coalesce(i.outcome, 0), o.sealing_key, o.activation_id, o.moves, o.date, o.body
            FROM receipt AS i LEFT JOIN receipt AS o ON o.id = i.outcome
            WHERE i.activation_id = $1 AND i.moves = $2 AND i.intent IS NULL ORDER BY i.id DESC LIMIT 1
            """,
            [.text(activationID), .integer(Int64(clamping: moves))]
        )
    }

    static func readKnown(_ results: [PostgresRows]) throws -> (Place, Row.Outcome?)? {
        guard let rows = results.last else { throw PostgresError(.unexpectedResult) }
        return try rows.first.map { row in
            let place = Place(intent: try row.integer(0), outcome: try row.integer(1))
            return (place, row.isNull(2) ? nil : try self.outcome(row, at: 2))
        }
    }

    // MARK: Erasing

    /// Statements of their own for each kind of selection, so that each has an index of its own.
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

    /// Returns open ones of those that are to be erased, behind one of them. In place of their number stands their identifier.
    static func openIntents(in selection: ReceiptSelection, after id: UInt64) -> PostgresStatement {
        let (condition, values) = self.condition(selection)
        return PostgresStatement(
            """
            SELECT i.id, \(self.columnsWithoutNumber) FROM receipt AS i
            LEFT JOIN receipt AS intent ON false LEFT JOIN receipt AS o ON false
            WHERE i.is_open AND i.id > $\(values.count + 1) AND \(condition) ORDER BY i.id LIMIT 100
            """,
            values + [.integer(Int64(clamping: id))]
        )
    }

    /// Erases the personal data of some receipts that are not open, and returns of how many.
    static func erasure(of selection: ReceiptSelection) -> PostgresStatement {
        let (condition, values) = self.condition(selection)
        let order = selection.activationID == nil ? "ORDER BY i.date" : ""
        return PostgresStatement(
            """
            WITH part AS (
                SELECT id FROM receipt AS i WHERE \(condition) AND NOT i.is_open \(order) LIMIT \(self.batch)
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
