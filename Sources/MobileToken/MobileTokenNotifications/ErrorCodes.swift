public import PowerAuthClient

extension MobileTokenError.Code {
    /// The inbox has no such message, or is unreadable.
    public static let inboxFailed = Self("inboxFailed")
    /// The server could not register the device for push messages.
    public static let pushRegistrationFailed = Self("pushRegistrationFailed")
    /// A registration for push messages with another token is in progress.
    public static let pushAlreadyRegistering = Self("pushAlreadyRegistering")
}
