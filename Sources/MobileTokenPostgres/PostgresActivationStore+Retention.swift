public import Foundation
import PostgresDatabase
public import PowerAuth

extension PostgresActivationStore: PrunableJournal {
    /// Deletes some receipts that are kept elsewhere, in one short commit; see `PrunableJournal`.
    ///
    /// Needs a role that may delete receipts, which nodes need not. The next vacuum makes the room free for other receipts.
    public func pruneReceipts(
        after number: UInt64,
        before last: UInt64,
        decidedBefore date: Date
    ) async throws -> PrunedReceipts {
        _ = try await self.opened()
        let deletion = try await self.withConnection { connection in
            try StoredReceipts.delete(after: number, before: last, decidedBefore: date.milliseconds, connection)
        }
        return PrunedReceipts(count: deletion.count, end: deletion.isRecent ? nil : deletion.end)
    }

    /// Notes where an export ended; see `PrunableJournal`.
    public func noteExport(upTo number: UInt64, at date: Date) async throws {
        _ = try await self.opened()
        let statement = StoredReceipts.noting(ExportNote(number: number, date: date))
        try await self.withConnection { _ = try $0.run([statement]) }
    }

    /// Returns what an operator watches.
    public func receiptFigures() async throws -> ReceiptFigures {
        _ = try await self.opened()
        return try await self.withConnection(isCancelable: true) { connection in
            guard let row = try connection.run([StoredReceipts.figures], .none).first?.first else {
                throw PostgresError(.unexpectedResult)
            }
            return try StoredReceipts.readFigures(row)
        }
    }
}
