public import PowerAuth

extension MobileTokenError.Code {
    // MARK: Operations

    /// The operation was authorized or otherwise finished before.
    public static let operationAlreadyFinished = Self("operationAlreadyFinished")
    /// The operation failed before, usually after too many wrong signatures.
    public static let operationAlreadyFailed = Self("operationAlreadyFailed")
    /// The operation was canceled before.
    public static let operationAlreadyCanceled = Self("operationAlreadyCanceled")
    /// The operation was rejected before.
    public static let operationAlreadyRejected = Self("operationAlreadyRejected")
    /// The server knows no such operation, or another decision on it came first. It is off the list.
    public static let invalidOperation = Self("invalidOperation")
    /// The operation is only for activations with a flag that this one lacks.
    public static let activationFlagRequired = Self("activationFlagRequired")
    /// The operation expired before it was authorized.
    public static let authorizeExpired = Self("authorizeExpired")
    /// The operation expired before it was rejected.
    public static let rejectExpired = Self("rejectExpired")
    /// The operation expired before it was claimed.
    public static let claimExpired = Self("claimExpired")
    /// The operation expired before its detail was asked for.
    public static let detailExpired = Self("detailExpired")
    /// The server could not carry the operation out.
    public static let operationFailed = Self("operationFailed")
    /// The operation cannot be authorized: it is not pending, or there are no factors that the server would accept.
    public static let notAuthorizable = Self("notAuthorizable")
    /// The server does not accept these factors for the call. Nothing was signed.
    public static let factorsNotAllowed = Self("factorsNotAllowed")
    /// An offline operation is not signed by the server, so it is neither shown nor authorized. Nothing was signed.
    public static let offlineFailed = Self("offlineFailed")

    /// Another process polls the activation, or no process does, so no decision on its operations is made here. Nothing
    /// was signed.
    public static let notPolledHere = Self("notPolledHere")

    /// An ``ApprovalAgent`` was given no factors: their source failed. Nothing was signed; it is tried again.
    public static let factorsUnavailable = Self("factorsUnavailable")

    // MARK: The activation, push, and what the caller asked for

    /// The server does not accept the activation for this call: it is blocked, removed or of another application.
    public static let invalidActivation = Self("invalidActivation")
    /// The server does not know the application any more.
    public static let invalidApplication = Self("invalidApplication")
    /// The inbox has no such message, or cannot be read.
    public static let inboxFailed = Self("inboxFailed")
    /// The server could not register the device for push messages.
    public static let pushRegistrationFailed = Self("pushRegistrationFailed")
    /// A registration for push messages with another token is under way.
    public static let pushAlreadyRegistering = Self("pushAlreadyRegistering")
}
