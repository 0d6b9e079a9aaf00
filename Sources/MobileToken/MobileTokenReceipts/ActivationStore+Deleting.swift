public import Foundation
public import PowerAuthClient

extension ActivationStore {
    /// Deletes exported receipts in small steps, while others sign.
    ///
    /// ```swift
    /// try await archive.export(from: store)
    /// try await store.deleteReceipts(exportedTo: archive, decidedBefore: Date() - 90 * 86_400)
    /// ```
    ///
    /// The files are verified before anything is deleted. Receipts stay if they are missing from the files, are open, or have an
    /// outcome not exported yet; so does the last exported entry, because the next export continues from it. A new archive would
    /// lack the deleted receipts, and is refused.
    ///
    /// PostgreSQL needs a role that may delete receipts, which nodes do not need.
    ///
    /// - Returns: The number of deleted entries.
    /// - Throws: ``ReceiptFault`` for the first changed line, ``MobileTokenError/Code/receiptsDiffer`` if the files are of
    ///   another store.
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
