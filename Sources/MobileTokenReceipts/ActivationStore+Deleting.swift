public import Foundation
public import PowerAuth

extension ActivationStore {
    /// Deletes receipts that were exported, in small steps, while others sign.
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
    /// PostgreSQL needs a role that may delete receipts, which nodes need not.
    ///
    /// - Returns: The number of entries that were deleted.
    /// - Throws: ``ReceiptFault`` for the first line that was changed, ``MobileTokenError/Code/receiptsDiffer`` when the files
    ///   are of another store.
    @discardableResult
    public func deleteReceipts(exportedTo archive: ReceiptArchive, decidedBefore date: Date) async throws -> Int {
        guard let exported = try await archive.verifiedNumbers(in: self) else { return 0 }
        var (count, last) = (0, Optional(exported.lowerBound - 1))
        while let number = last {
            try Task.checkCancellation()
            let step = try await MobileTokenError.mapStoreErrors {
                try await self.pruneReceipts(after: number, before: exported.upperBound, decidedBefore: date)
            }
            count += step.count
            last = step.end
        }
        return count
    }
}
