/// The receipts of a store, oldest first, read a page at a time.
///
/// Ends with those that were there when the last page was read. Any number of iterators may read.
public struct DecisionReceipts: AsyncSequence, Sendable {
    let journal: any DecisionJournal
    let activationID: String?

    /// Starts at the oldest receipt.
    public func makeAsyncIterator() -> Iterator {
        Iterator(journal: self.journal, activationID: self.activationID)
    }

    /// A place in the receipts.
    public struct Iterator: AsyncIteratorProtocol {
        private static let pageSize = 128

        let journal: any DecisionJournal
        let activationID: String?
        private var page: ArraySlice<DecisionReceipt> = []
        private var last: UInt64 = 0

        init(journal: any DecisionJournal, activationID: String?) {
            self.journal = journal
            self.activationID = activationID
        }

        /// The next receipt.
        ///
        /// - Throws: ``MobileTokenError`` when the store cannot be read.
        public mutating func next() async throws -> DecisionReceipt? {
            if self.page.isEmpty {
                try Task.checkCancellation()
                self.page = try await MobileTokenError.mapStoreErrors { [journal, activationID, last] in
                    try await journal.receipts(of: activationID, after: last, limit: Self.pageSize)
                }[...]
            }
            guard let receipt = self.page.popFirst() else { return nil }
            self.last = receipt.number
            return receipt
        }
    }
}
