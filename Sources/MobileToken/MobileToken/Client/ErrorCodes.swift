public import PowerAuthClient

extension MobileTokenError.Code {
    // MARK: Operations

    /// The operation was already authorized or otherwise finished.
    public static let operationAlreadyFinished = Self("operationAlreadyFinished")
    /// The operation had already failed, usually after too many wrong signatures.
    public static let operationAlreadyFailed = Self("operationAlreadyFailed")
    /// The operation was already canceled.
    public static let operationAlreadyCanceled = Self("operationAlreadyCanceled")
    /// The operation was already rejected.
    public static let operationAlreadyRejected = Self("operationAlreadyRejected")
    /// The server does not know the operation, or another decision came first. It leaves the list.
    public static let invalidOperation = Self("invalidOperation")
    /// The operation requires an activation flag that this activation lacks.
    public static let activationFlagRequired = Self("activationFlagRequired")
    /// The operation expired before it was authorized.
    public static let authorizeExpired = Self("authorizeExpired")
    /// The operation expired before it was rejected.
    public static let rejectExpired = Self("rejectExpired")
    /// The operation expired before it was claimed.
    public static let claimExpired = Self("claimExpired")
    /// The operation expired before its details were requested.
    public static let detailExpired = Self("detailExpired")
    /// The server failed to carry out the operation.
    public static let operationFailed = Self("operationFailed")
    /// The operation cannot be authorized: it is not pending, or the server accepts no factors known here.
    public static let notAuthorizable = Self("notAuthorizable")
    /// The server does not accept these factors for the call. Nothing was signed.
    public static let factorsNotAllowed = Self("factorsNotAllowed")

    /// Another process polls the activation, or none does, so this process does not decide. Nothing was signed.
    public static let notPolledHere = Self("notPolledHere")

    /// The factor source of an ``ApprovalAgent`` failed. Nothing was signed; the agent tries again.
    public static let factorsUnavailable = Self("factorsUnavailable")

    // MARK: The activation

    /// The server rejects the activation for this call: it is blocked, removed or belongs to another application.
    public static let invalidActivation = Self("invalidActivation")
    /// The server no longer knows the application.
    public static let invalidApplication = Self("invalidApplication")
}
