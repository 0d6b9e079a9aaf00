import Basics
package import Foundation

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
