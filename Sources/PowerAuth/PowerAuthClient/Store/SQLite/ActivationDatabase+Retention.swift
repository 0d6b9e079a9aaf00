import Foundation
import SQLiteDatabase

/// Deletion and figures of receipts.
extension ActivationDatabase {
    /// The condition for deleting an intent: decided, old, and its last outcome exported.
    private static let isOld =
        "weight >= \(ActivationDatabase.decidedWeight) AND date < ?4 AND coalesce(outcome, 0) < ?3"

    /// Deletes the deletable receipts of a part; see ``ActivationStore/pruneReceipts(after:before:decidedBefore:)``. An outcome
    /// follows its intent, perhaps in another part, and is deleted with it or after it.
    func deleteReceipts(
        after number: UInt64,
        through end: UInt64,
        before last: UInt64,
        decidedBefore date: Date
    ) throws -> Int {
        let before = self.connection.changedRowCount
        try self.connection.run(
            """
            DELETE FROM receipt WHERE number > ?1 AND number <= ?2 AND number < ?3 AND (
                intent IS NULL AND \(Self.isOld) OR intent IS NOT NULL AND NOT EXISTS (
                    SELECT 1 FROM receipt AS i WHERE i.number = receipt.intent AND NOT (\(Self.isOld))
                )
            )
            """,
            [
                .integer(Int64(clamping: number)), .integer(Int64(clamping: end)), .integer(Int64(clamping: last)),
                .integer(date.milliseconds),
            ]
        )
        return self.connection.changedRowCount - before
    }

    /// Returns whether a part contains a decision before a date.
    func hasReceipts(after number: UInt64, through end: UInt64, decidedBefore date: Date) throws -> Bool {
        try self.connection.firstRow(
            "SELECT 1 FROM receipt WHERE number > ? AND number <= ? AND date < ? LIMIT 1",
            [.integer(Int64(clamping: number)), .integer(Int64(clamping: end)), .integer(date.milliseconds)]
        ) { _ in true } ?? false
    }

    /// Returns some free pages to the file system, if the file supports it.
    func releasePages() throws {
        try self.connection.set("incremental_vacuum(1000)")
    }

    func exportNote() throws -> ExportNote? { try self.setting(ExportNote.name).flatMap { ExportNote(stored: $0) } }

    func lastReceiptNumber() throws -> UInt64 {
        try self.connection.firstRow("SELECT max(number) FROM receipt") { UInt64(clamping: $0.integer(0)) } ?? 0
    }

    /// The size of the file in bytes, without free pages.
    func usedByteCount() throws -> Int {
        func integer(_ pragma: String) throws -> Int64 {
            try self.connection.firstRow("PRAGMA " + pragma) { $0.integer(0) } ?? 0
        }
        let pages = try integer("page_count") - integer("freelist_count")
        return Int(clamping: pages.multipliedReportingOverflow(by: try integer("page_size")).partialValue)
    }
}
