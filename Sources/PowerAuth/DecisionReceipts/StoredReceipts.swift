/// The receipts of a store, oldest first, read a page at a time. Any number of iterators may read.
///
/// Iteration ends with the receipts that existed when the last page was read.
public struct StoredReceipts: AsyncSequence, Sendable {
    /// Reads a page: the receipts after a number, at most as many as given.
    package typealias Read = @Sendable (_ number: UInt64, _ limit: Int) async throws -> [DecisionReceipt]

    private let read: Read

    package init(_ read: @escaping Read) { self.read = read }

    /// Starts at the oldest receipt.
    public func makeAsyncIterator() -> Iterator { Iterator(read: self.read) }

    /// A position in the receipts.
    public struct Iterator: AsyncIteratorProtocol {
        private static let pageSize = 128

        private let read: Read
        private var page: ArraySlice<DecisionReceipt> = []
        private var last: UInt64 = 0

        fileprivate init(read: @escaping Read) { self.read = read }

        /// Returns the next receipt.
        ///
        /// - Throws: `MobileTokenError` if the store cannot be read.
        public mutating func next() async throws -> DecisionReceipt? {
            if self.page.isEmpty {
                try Task.checkCancellation()
                self.page = try await self.read(self.last, Self.pageSize)[...]
            }
            guard let receipt = self.page.popFirst() else { return nil }
            self.last = receipt.number
            return receipt
        }
    }
}
