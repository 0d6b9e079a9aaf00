import PostgresDatabase
import PowerAuth

/// The deletion of receipts that are kept elsewhere.
extension StoredReceipts {
    /// The result of a step.
    struct Deletion: Sendable {
        /// The number behind which the next step begins; `nil` when there is nothing behind.
        let end: UInt64?
        let count: Int
        /// Indicates that nothing this step looked at was old enough.
        let isRecent: Bool
    }

    /// Looks at some entries, and deletes the intents among them that are old, not open, and kept elsewhere with all their
    /// outcomes, and these outcomes.
    ///
    /// - Parameters:
    ///   - number: The number of the last entry that was looked at before.
    ///   - last: The last entry that is kept elsewhere, which stays: it shows the next export where it goes on.
    ///   - milliseconds: The time before which an intent counts as old, in milliseconds since 1970.
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

/// Figures for an operator.
extension StoredReceipts {
    /// Returns the last number, how many entries have none yet, the bytes of the table with its indexes, and what was noted of
    /// the last export.
    static let figures = PostgresStatement(
        """
        SELECT (SELECT coalesce(max(number), 0) FROM receipt), (SELECT count(*) FROM receipt WHERE number IS NULL),
            pg_total_relation_size('receipt'::regclass),
            (SELECT value FROM setting WHERE name = '\(ExportNote.name)')
        """
    )

    static func readFigures(_ row: PostgresRow) throws -> ActivationStore.ReceiptFigures {
        let last = UInt64(clamping: try row.integer(0))
        let note = row.isNull(3) ? nil : ExportNote(stored: try row.bytes(3))
        let numbered = Int(clamping: last - min(note?.number ?? 0, last))
        let (count, isTooMuch) = numbered.addingReportingOverflow(Int(clamping: try row.integer(1)))
        return ActivationStore.ReceiptFigures(
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
