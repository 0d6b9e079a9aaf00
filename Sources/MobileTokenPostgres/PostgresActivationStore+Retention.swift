public import Foundation
public import PowerAuth

extension PostgresActivationStore {
    /// Deletes receipts that were exported, in small steps, while nodes sign.
    ///
    /// ```swift
    /// try await archive.export(from: store)
    /// try await store.deleteReceipts(exportedTo: archive, decidedBefore: Date() - 90 * 86_400)
    /// ```
    ///
    /// The files are verified before anything is deleted. What they do not hold stays, and so do open receipts, those with an
    /// outcome that was not exported yet, and the last entry that was: the next export goes on behind it. An archive that is
    /// begun anew would lack what was deleted, and is refused.
    ///
    /// Needs a role that may delete receipts, which nodes need not. The room is used again after the next vacuum.
    ///
    /// - Returns: How many entries were deleted.
    /// - Throws: `ReceiptFault` for the first line that was changed, `receiptsDiffer` when the files are of another store.
    @discardableResult
    public func deleteReceipts(exportedTo archive: ReceiptArchive, decidedBefore date: Date) async throws -> Int {
        guard let exported = try await archive.verifiedNumbers(in: self) else { return 0 }
        var (count, number) = (0, exported.lowerBound - 1)
        while true {
            try Task.checkCancellation()
            let deletion = try await self.withConnection { [number] connection in
                try StoredReceipts.delete(
                    after: number,
                    before: exported.upperBound,
                    decidedBefore: date.milliseconds,
                    connection
                )
            }
            count += deletion.count
            guard let end = deletion.end, !deletion.isRecent else { return count }
            number = end
        }
    }
}
