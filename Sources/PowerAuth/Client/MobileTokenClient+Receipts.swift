extension MobileTokenClient {
    /// Returns the receipts of decisions, oldest first, also of activations that were removed.
    ///
    /// ```swift
    /// for try await receipt in try client.receipts() {
    ///     print(receipt.intent.localDate, receipt.intent.verdict, receipt.outcome?.result ?? "open")
    /// }
    /// ```
    ///
    /// - Parameter activationID: Of one activation; `nil` is all.
    /// - Throws: ``MobileTokenError/Code/receiptsNotKept`` when the store is no ``DecisionJournal``.
    public func receipts(of activationID: String? = nil) throws -> DecisionReceipts {
        DecisionReceipts(journal: try self.journal, activationID: activationID)
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
    /// - Returns: How many receipts had personal data.
    @discardableResult
    public func eraseReceipts(_ selection: ReceiptSelection) async throws -> Int {
        let journal = try self.journal
        return try await MobileTokenError.mapStoreErrors { try await journal.eraseReceipts(selection) }
    }

    /// The store, when it keeps receipts.
    package var journal: any DecisionJournal {
        get throws {
            guard let journal = self.server.store as? any DecisionJournal else {
                throw MobileTokenError(.receiptsNotKept, "The store keeps no receipts")
            }
            return journal
        }
    }
}
