import DecisionReceipts
import PostgresDatabase
import PowerAuthClient

extension StoredReceipts {
    struct Deletion: Sendable {
        /// The number after which the next step begins; `nil` if this was the last.
        let end: UInt64?
        let count: Int
        /// Indicates that no examined entry was old enough.
        let isRecent: Bool
    }

    /// Deletes, among the next entries, the old intents that are decided and completely exported, with their outcomes.
    ///
    /// - Parameters:
    ///   - number: The number of the last entry examined.
    ///   - last: The last exported entry. It stays, because the next export continues there.
    ///   - milliseconds: The time before which an intent is old, in milliseconds since 1970.
    static func delete(
        after number: UInt64,
        before last: UInt64,
        decidedBefore milliseconds: Int64,
        _ connection: PostgresConnection
    ) throws -> Deletion {
        let statement = self.deletion(after: number, before: last, decidedBefore: milliseconds)
        guard let row = try connection.run([statement]).first?.first else { throw PostgresError(.unexpectedResult) }
        return Deletion(
            end: row.isNull(0) ? nil : UInt64(clamping: try row.integer(0)),
            count: Int(clamping: try row.integer(1)),
            isRecent: try row.boolean(2)
        )
    }

    static func deletion(
        after number: UInt64,
        before last: UInt64,
        decidedBefore milliseconds: Int64
    ) -> PostgresStatement {
        PostgresStatement(
            """
            WITH part AS MATERIALIZED (
                SELECT id, number, intent, date, weight FROM receipt
                WHERE number > $1 AND number < $2 ORDER BY number LIMIT \(self.batch)
            ), old AS MATERIALIZED (
                SELECT id FROM part WHERE intent IS NULL AND weight >= \(self.decidedWeight) AND date < $3 AND NOT EXISTS (
                    SELECT FROM receipt AS o WHERE o.intent = part.id AND (o.number IS NULL OR o.number >= $2)
                )
            ), outcomes AS (
                DELETE FROM receipt USING old WHERE receipt.intent = old.id RETURNING 1
            ), intents AS (
                DELETE FROM receipt USING old WHERE receipt.id = old.id RETURNING 1
            )
            SELECT max(number), (SELECT count(*) FROM outcomes) + (SELECT count(*) FROM intents),
                coalesce(bool_and(date >= $3) FILTER (WHERE intent IS NULL), false)
            FROM part
            """,
            [.integer(Int64(clamping: number)), .integer(Int64(clamping: last)), .integer(milliseconds)]
        )
    }
}

extension StoredReceipts {
    /// Queries the last number, the count of unnumbered entries, the size of table and indexes in bytes, and the last export.
    static let figures = PostgresStatement(
        """
        SELECT (SELECT coalesce(max(number), 0) FROM receipt), (SELECT count(*) FROM receipt WHERE number IS NULL),
            pg_total_relation_size('receipt'::regclass),
            (SELECT value FROM setting WHERE name = '\(ExportNote.name)')
        """
    )

    static func readFigures(_ row: PostgresRow) throws -> ReceiptFigures {
        let last = UInt64(clamping: try row.integer(0))
        let note = row.isNull(3) ? nil : ExportNote(stored: try row.bytes(3))
        let numbered = Int(clamping: last - min(note?.number ?? 0, last))
        let (count, isTooMuch) = numbered.addingReportingOverflow(Int(clamping: try row.integer(1)))
        return ReceiptFigures(
            unexportedCount: isTooMuch ? .max : count,
            lastExport: note?.date,
            byteCount: Int(clamping: try row.integer(2))
        )
    }

    static func noting(_ note: ExportNote) -> PostgresStatement {
        PostgresStatement(
            """
            INSERT INTO setting (name, value) VALUES ('\(ExportNote.name)', $1)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value
            """,
            [.bytes(note.stored)]
        )
    }
}
