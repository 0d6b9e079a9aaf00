package import DecisionReceipts

extension StoredReceipts {
    /// The receipts in a store, of one activation or of all.
    package init(in store: ActivationStore, of activationID: String?) {
        self.init { number, limit in
            try await MobileTokenError.mapStoreErrors {
                try await store.receipts(of: activationID, after: number, limit: limit)
            }
        }
    }
}
