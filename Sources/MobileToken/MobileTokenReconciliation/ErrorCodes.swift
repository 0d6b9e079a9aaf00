public import PowerAuthClient

extension MobileTokenError.Code {
    /// The operations have no receipts: their channel provides no evidence of an activation.
    public static let receiptsNotKept = Self("receiptsNotKept")
    /// A decision is open, and the call would destroy the evidence of its outcome.
    public static let decisionsOpen = Self("decisionsOpen")
}
