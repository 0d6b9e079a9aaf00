import Basics
public import Foundation

/// A journal that deletes receipts once they are kept elsewhere, and tells an operator how many are not.
///
/// ``SQLiteActivationStore`` is one, and so is `PostgresActivationStore`.
public protocol PrunableJournal: DecisionJournal {
    /// Looks at some entries in the order of their numbers, and deletes those that may go, in one short commit.
    ///
    /// An intent goes with its outcomes: when it is not open, was decided before `date`, and none of them has the number `last`
    /// or a greater one. Numbers that were given are never given again.
    ///
    /// - Parameters:
    ///   - number: The number of the last entry that was looked at before; 0 is the beginning.
    ///   - last: The number of the last entry that is kept elsewhere. It stays, and so does all behind it.
    ///   - date: By the local clock.
    func pruneReceipts(
        after number: UInt64,
        before last: UInt64,
        decidedBefore date: Date
    ) async throws -> PrunedReceipts

    /// Notes where an export ended, for ``receiptFigures()``. Nothing else depends on it.
    ///
    /// ``ReceiptArchive`` calls it.
    func noteExport(upTo number: UInt64, at date: Date) async throws

    /// Returns what an operator watches.
    func receiptFigures() async throws -> ReceiptFigures
}

/// A step of deleting receipts.
public struct PrunedReceipts: Sendable, Hashable {
    /// The number of entries that were deleted.
    public let count: Int
    /// The number behind which the next step begins; `nil` when nothing behind it is old enough.
    public let end: UInt64?

    /// Puts together what a step did.
    public init(count: Int, end: UInt64?) {
        self.count = count
        self.end = end
    }
}

/// Figures of the receipts of a store, for an operator.
public struct ReceiptFigures: Sendable, Hashable {
    /// The number of entries that were written since the last export, or at all when there was none.
    public let unexportedCount: Int
    /// When an export ended last, whether it found anything or not, by the clock of the machine that exported; `nil` when there
    /// was none.
    public let lastExport: Date?
    /// The room that receipts take. In SQLite that of the whole file, but for what is free in it.
    public let byteCount: Int

    /// Puts together what a store counted.
    public init(unexportedCount: Int, lastExport: Date?, byteCount: Int) {
        self.unexportedCount = unexportedCount
        self.lastExport = lastExport
        self.byteCount = byteCount
    }
}

extension PrunableJournal {
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
    /// - Returns: How many entries were deleted.
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

/// The end of an export, as it is kept.
package struct ExportNote: Sendable, Equatable {
    /// The name of the setting.
    package static let name = "receipts-exported"

    package let number: UInt64
    package let milliseconds: Int64

    package init(number: UInt64, date: Date) {
        self.number = number
        self.milliseconds = date.milliseconds
    }

    /// Reads what was kept; `nil` when it is nothing that this made.
    package init?(stored bytes: [UInt8]) {
        guard let number = UInt64(bigEndianBytes: bytes.prefix(8)),
            let milliseconds = Int64(bigEndianBytes: bytes.dropFirst(8))
        else { return nil }
        (self.number, self.milliseconds) = (number, milliseconds)
    }

    package var stored: [UInt8] { self.number.bigEndianBytes + self.milliseconds.bigEndianBytes }
    package var date: Date { Date(milliseconds: self.milliseconds) }
}
