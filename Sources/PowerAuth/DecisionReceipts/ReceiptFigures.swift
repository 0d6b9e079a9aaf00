public import Foundation

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
