extension MobileTokenError.Code {
    // MARK: What the caller asked for

    /// A URL, key, configuration string or option is invalid; the message names it.
    public static let invalidConfiguration = Self("invalidConfiguration")
    /// The activation code is malformed, or its signature is not the server's.
    public static let invalidActivationCode = Self("invalidActivationCode")
    /// The factors are unusable: a password is too short, a key has the wrong length, or a factor is not set up.
    public static let invalidAuthentication = Self("invalidAuthentication")
    /// The factor was unlocked before a password change or an upgrade: unlock it again. Nothing was sent.
    public static let factorOutdated = Self("factorOutdated")
    /// The name of a token or an activation is empty, too long, or contains a control character.
    public static let invalidName = Self("invalidName")
    /// The store contains no such activation.
    public static let unknownActivation = Self("unknownActivation")

    /// The process's libcrypto lacks an algorithm of the suite; the message names the found and the required version.
    public static let suiteUnavailable = Self("suiteUnavailable")
    /// The activation's protocol version or the server's release does not support this.
    public static let notSupported = Self("notSupported")

    // MARK: What the server said

    /// The server refused the factors, such as the password, and counted a failed attempt.
    public static let authenticationFailed = Self("authenticationFailed")
    /// The server refused a signature or a token without evidence of a wrong password: no failed attempt was counted, or the
    /// status was unavailable. The message says which. The server may have carried out the request.
    public static let refusalUnproven = Self("refusalUnproven")
    /// The activation is blocked until `ActivationStatus.blockedUntil`, which the message shows, or until an administrator
    /// unblocks it.
    public static let activationBlocked = Self("activationBlocked")
    /// The server has removed the activation.
    public static let activationRemoved = Self("activationRemoved")
    /// The server has not committed the activation yet and accepts no signature.
    public static let activationPending = Self("activationPending")
    /// The server refused to create the activation, or does not know it.
    public static let activationFailed = Self("activationFailed")
    /// The server has neither accepted nor counted the last ten or more signatures. Nothing is signed until
    /// `Activation.tryCounter()` succeeds.
    public static let signaturesAreLost = Self("signaturesAreLost")
    /// A decision was sent, but neither a response nor the status shows its outcome: it may have been carried out.
    /// ``MobileTokenError/underlying`` is the reason. The next decision, an agent, or
    /// `reconcileReceipts(with:since:exportedTo:isSettling:)` closes the receipt.
    public static let outcomeUnknown = Self("outcomeUnknown")
    /// The counters are too far apart to be synchronized: replace the activation.
    public static let deadlock = Self("deadlock")
    /// The string is not a list of languages.
    public static let invalidLanguage = Self("invalidLanguage")
    /// The server could not change the password. The old one stays valid.
    public static let passwordChangeFailed = Self("passwordChangeFailed")
    /// The server could not report its status.
    public static let serverStatusFailed = Self("serverStatusFailed")
    /// The server could not return its configuration, or is not configured for this.
    public static let serverConfigurationFailed = Self("serverConfigurationFailed")
    /// A server behind the called one did not respond. It may have carried out the request; a retry may help.
    public static let remoteCommunicationFailed = Self("remoteCommunicationFailed")
    /// The server considers the request malformed.
    public static let invalidRequest = Self("invalidRequest")
    /// The server returns no temporary encryption key, or refuses a fresh one.
    public static let temporaryKeyRefused = Self("temporaryKeyRefused")
    /// The server could not decrypt a request, even with a fresh key.
    public static let encryptionFailed = Self("encryptionFailed")
    /// The server reported a code of its own; see ``MobileTokenError/serverCode``.
    public static let serverError = Self("serverError")
    /// An HTTP error without the server's envelope, usually a proxy's page. The server may have carried out the request.
    public static let httpStatus = Self("httpStatus")
    /// The response is unreadable or not authenticated as the server's.
    public static let invalidResponse = Self("invalidResponse")

    // MARK: What the network did

    /// The client could not connect. Nothing was sent.
    public static let noConnection = Self("noConnection")
    /// The connection ended before the response was complete. The server may have carried out the request.
    public static let connectionLost = Self("connectionLost")
    /// No response in time. The server may have carried out the request.
    public static let timeout = Self("timeout")
    /// The server's certificate or key was rejected.
    public static let tlsFailed = Self("tlsFailed")
    /// A transport-specific failure. The server may have carried out the request.
    public static let networkUnknown = Self("networkUnknown")

    // MARK: What happened here

    /// The time limit of a waiting call has passed; ``MobileTokenError/underlying`` is the last failure, if any. Nothing was
    /// changed.
    public static let deadlinePassed = Self("deadlinePassed")

    /// The server created the activation, but storing it failed. The code is consumed. The message names the activation to remove
    /// at the server; ``MobileTokenError/underlying`` is the cause.
    public static let activationNotSaved = Self("activationNotSaved")

    /// The activation is created and stored, but its confirmation failed. Nothing can be signed before
    /// `Activation.confirm(password:)`.
    public static let activationNotConfirmed = Self("activationNotConfirmed")

    /// The store could not read or write.
    public static let storeFailed = Self("storeFailed")
    /// The cryptographic library failed.
    public static let cryptographyFailed = Self("cryptographyFailed")
}
