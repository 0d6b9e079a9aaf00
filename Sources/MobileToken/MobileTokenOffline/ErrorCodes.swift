public import PowerAuthClient

extension MobileTokenError.Code {
    /// The server did not sign the offline operation, so it is neither shown nor authorized. Nothing was signed.
    public static let offlineFailed = Self("offlineFailed")
}
