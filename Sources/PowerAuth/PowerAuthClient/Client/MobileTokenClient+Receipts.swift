public import DecisionReceipts

extension MobileTokenClient {
    /// Returns the receipts of decisions, oldest first, including those of removed activations.
    ///
    /// ```swift
    /// for try await receipt in client.receipts() {
    ///     print(receipt.intent.localDate, receipt.intent.verdict, receipt.outcome?.result ?? "open")
    /// }
    /// ```
    ///
    /// - Parameter activationID: The activation; `nil` for all.
    public func receipts(of activationID: String? = nil) -> StoredReceipts {
        StoredReceipts(in: self.store, of: activationID)
    }

    /// Erases the personal data of receipts: operation, data, displayed text and rejection reason. The rest stays, and exports
    /// can still be verified.
    ///
    /// Erase exported files separately, with `ReceiptArchive`.
    ///
    /// ```swift
    /// try await client.eraseReceipts(.decided(before: Date() - 400 * 86_400))
    /// ```
    ///
    /// - Returns: The number of receipts that contained personal data.
    @discardableResult
    public func eraseReceipts(_ selection: ReceiptSelection) async throws -> Int {
        try await MobileTokenError.mapStoreErrors { try await self.store.eraseReceipts(selection) }
    }

    package var store: ActivationStore { self.server.store }
}
