extension MobileTokenClient {
    /// Returns the receipts of decisions, oldest first, also of activations that were removed.
    ///
    /// ```swift
    /// for try await receipt in client.receipts() {
    ///     print(receipt.intent.localDate, receipt.intent.verdict, receipt.outcome?.result ?? "open")
    /// }
    /// ```
    ///
    /// - Parameter activationID: Of one activation; `nil` is all.
    public func receipts(of activationID: String? = nil) -> ActivationStore.Receipts {
        ActivationStore.Receipts(store: self.store, activationID: activationID)
    }

    /// Erases the personal data of receipts: operation, data, what was shown, and the reason of a rejection. The rest stays,
    /// and what was exported from it can be verified as before.
    ///
    /// Files that were exported before are erased on their own, with `ReceiptArchive`.
    ///
    /// ```swift
    /// try await client.eraseReceipts(.decided(before: Date() - 400 * 86_400))
    /// ```
    ///
    /// - Returns: The number of receipts that had personal data.
    @discardableResult
    public func eraseReceipts(_ selection: ReceiptSelection) async throws -> Int {
        try await MobileTokenError.mapStoreErrors { try await self.store.eraseReceipts(selection) }
    }

    /// The store of the client's activations.
    package var store: ActivationStore { self.server.store }
}
