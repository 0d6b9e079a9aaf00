import Foundation
import SQLiteDatabase

/// Deleting receipts, and counting them.
extension ActivationDatabase {
    /// The condition for deleting an intent: it is decided and old, and its last outcome is kept elsewhere.
    private static let isOld =
        "weight >= \(ActivationDatabase.decidedWeight) AND date < ?4 AND coalesce(outcome, 0) < ?3"

    /// Deletes what may go of a part; see ``ActivationStore/pruneReceipts(after:before:decidedBefore:)``.
    ///
    /// An outcome lies behind its intent, perhaps in another part. It goes when its intent is gone, or goes now.
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

    /// Returns whether something in a part was decided before a moment.
    func hasReceipts(after number: UInt64, through end: UInt64, decidedBefore date: Date) throws -> Bool {
        try self.connection.firstRow(
            "SELECT 1 FROM receipt WHERE number > ? AND number <= ? AND date < ? LIMIT 1",
            [.integer(Int64(clamping: number)), .integer(Int64(clamping: end)), .integer(date.milliseconds)]
        ) { _ in true } ?? false
    }

    /// Gives some free pages back to the file system, if the file was made for that.
    func releasePages() throws {
        try self.connection.set("incremental_vacuum(1000)")
    }

    func exportNote() throws -> ExportNote? { try self.setting(ExportNote.name).flatMap { ExportNote(stored: $0) } }

    func lastReceiptNumber() throws -> UInt64 {
        try self.connection.firstRow("SELECT max(number) FROM receipt") { UInt64(clamping: $0.integer(0)) } ?? 0
    }

    /// The bytes of the file, but for those that are free.
    func usedByteCount() throws -> Int {
        func integer(_ pragma: String) throws -> Int64 {
            try self.connection.firstRow("PRAGMA " + pragma) { $0.integer(0) } ?? 0
        }
        let pages = try integer("page_count") - integer("freelist_count")
        return Int(clamping: pages.multipliedReportingOverflow(by: try integer("page_size")).partialValue)
    }
}
