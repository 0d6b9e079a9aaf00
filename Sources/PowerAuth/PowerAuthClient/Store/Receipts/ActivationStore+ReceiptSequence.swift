public import DecisionReceipts

extension ActivationStore {
    /// The receipts of a store, oldest first, read a page at a time. Any number of iterators may read.
    ///
    /// Iteration ends with the receipts that existed when the last page was read.
    public struct Receipts: AsyncSequence, Sendable {
        let store: ActivationStore
        let activationID: String?

        package init(store: ActivationStore, activationID: String?) {
            self.store = store
            self.activationID = activationID
        }

        /// Starts at the oldest receipt.
        public func makeAsyncIterator() -> Iterator {
            Iterator(store: self.store, activationID: self.activationID)
        }

        /// A position in the receipts.
        public struct Iterator: AsyncIteratorProtocol {
            private static let pageSize = 128

            let store: ActivationStore
            let activationID: String?
            private var page: ArraySlice<DecisionReceipt> = []
            private var last: UInt64 = 0

            init(store: ActivationStore, activationID: String?) {
                self.store = store
                self.activationID = activationID
            }

            /// Returns the next receipt.
            ///
            /// - Throws: ``MobileTokenError`` if the store cannot be read.
            public mutating func next() async throws -> DecisionReceipt? {
                if self.page.isEmpty {
                    try Task.checkCancellation()
                    self.page = try await MobileTokenError.mapStoreErrors { [store, activationID, last] in
                        try await store.receipts(of: activationID, after: last, limit: Self.pageSize)
                    }[...]
                }
                guard let receipt = self.page.popFirst() else { return nil }
                self.last = receipt.number
                return receipt
            }
        }
    }
}
