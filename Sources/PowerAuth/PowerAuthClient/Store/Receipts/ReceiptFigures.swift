import Basics
public import Foundation

/// The result of one step of deleting receipts.
package struct PrunedReceipts: Sendable, Hashable {
    package let count: Int
    /// The number after which the next step begins; `nil` if no later entry is old enough.
    package let end: UInt64?

    package init(count: Int, end: UInt64?) {
        self.count = count
        self.end = end
    }
}

extension ActivationStore {
    /// Figures about a store's receipts, for operators.
    public struct ReceiptFigures: Sendable, Hashable {
        /// The number of entries since the last export, or in total.
        public let unexportedCount: Int
        /// When the last export ended, even an empty one, by the exporting machine's clock; `nil` if there was none.
        public let lastExport: Date?
        /// The size of the receipts in bytes. In SQLite, the used size of the whole file.
        public let byteCount: Int

        /// Creates figures from a store's counts.
        package init(unexportedCount: Int, lastExport: Date?, byteCount: Int) {
            self.unexportedCount = unexportedCount
            self.lastExport = lastExport
            self.byteCount = byteCount
        }
    }
}

/// The recorded end of an export.
package struct ExportNote: Sendable, Equatable {
    package static let name = "receipts-exported"

    package let number: UInt64
    package let milliseconds: Int64

    package init(number: UInt64, date: Date) {
        self.number = number
        self.milliseconds = date.milliseconds
    }

    /// Parses the stored bytes; `nil` if they are malformed.
    package init?(stored bytes: [UInt8]) {
        guard let number = UInt64(bigEndianBytes: bytes.prefix(8)),
            let milliseconds = Int64(bigEndianBytes: bytes.dropFirst(8))
        else { return nil }
        (self.number, self.milliseconds) = (number, milliseconds)
    }

    package var stored: [UInt8] { self.number.bigEndianBytes + self.milliseconds.bigEndianBytes }
    package var date: Date { Date(millisecondsSince1970: self.milliseconds) }
}
