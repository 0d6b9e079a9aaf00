public import PowerAuthClient

extension MobileTokenError.Code {
    /// The end of the exported receipts differs from the store's entry, so the export cannot be continued.
    public static let receiptsDiffer = Self("receiptsDiffer")
}
