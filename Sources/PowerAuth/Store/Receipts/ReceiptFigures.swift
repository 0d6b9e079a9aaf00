import Basics
public import Foundation

/// A step of deleting receipts.
package struct PrunedReceipts: Sendable, Hashable {
    /// The number of entries that were deleted.
    package let count: Int
    /// The number behind which the next step begins; `nil` when nothing behind it is old enough.
    package let end: UInt64?

    /// Puts together what a step did.
    package init(count: Int, end: UInt64?) {
        self.count = count
        self.end = end
    }
}

extension ActivationStore {
    /// Figures of the receipts of a store, for an operator.
    public struct ReceiptFigures: Sendable, Hashable {
        /// The number of entries that were written since the last export, or at all when there was none.
        public let unexportedCount: Int
        /// The time when an export ended last, whether it found anything or not, by the clock of the machine that exported; `nil` when there
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
