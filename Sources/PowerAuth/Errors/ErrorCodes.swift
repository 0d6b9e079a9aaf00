extension MobileTokenError.Code {
    // MARK: What the caller asked for

    /// A URL, key, configuration string or option cannot be used; the message names which.
    public static let invalidConfiguration = Self("invalidConfiguration")
    /// The activation code is malformed, or its signature is not the server's.
    public static let invalidActivationCode = Self("invalidActivationCode")
    /// The factors cannot be used: a password that is too short, a key of the wrong length, a factor that is not set up.
    public static let invalidAuthentication = Self("invalidAuthentication")
    /// The factor was unlocked before the password was changed or the activation upgraded: unlock it again. Nothing was sent.
    public static let factorOutdated = Self("factorOutdated")
    /// The name of a token or an activation is empty, too long, or holds a control character.
    public static let invalidName = Self("invalidName")
    /// The store contains no such activation.
    public static let unknownActivation = Self("unknownActivation")

    /// The libcrypto of this process lacks an algorithm of the suite; the message names the version found and the one needed.
    public static let suiteUnavailable = Self("suiteUnavailable")
    /// The activation's version of the protocol does not have this, or the server is too old for it.
    public static let notSupported = Self("notSupported")

    // MARK: What an OpenID provider said

    /// The address does not show the state of the attempt: it belongs to another one, or comes from somebody else. The
    /// attempt is as it was.
    public static let oidcStateMismatch = Self("oidcStateMismatch")
    /// The address is not the one that the provider leads back to. The attempt is as it was.
    public static let oidcRedirectMismatch = Self("oidcRedirectMismatch")
    /// The address gives a parameter more than once, and it depends on the reader which counts.
    public static let oidcParameterRepeated = Self("oidcParameterRepeated")
    /// The provider led back without a code that can be used.
    public static let oidcCodeMissing = Self("oidcCodeMissing")
    /// The provider did not sign the user in; ``MobileTokenError/serverCode`` is its code, such as `access_denied`.
    public static let oidcRefused = Self("oidcRefused")
    /// The provider has answered this attempt already. Each is good for one answer.
    public static let oidcAttemptUsed = Self("oidcAttemptUsed")

    // MARK: What the server said

    /// The server does not offer this activation an upgrade to a newer version of the protocol.
    public static let upgradeNotOffered = Self("upgradeNotOffered")
    /// The server refused to upgrade the activation, which stays as it was.
    public static let upgradeFailed = Self("upgradeFailed")

    /// The server refused the signature, the password or the token: it said so itself. The 401 of a proxy is ``httpStatus``.
    public static let authenticationFailed = Self("authenticationFailed")
    /// The activation is blocked: until the moment that `ActivationStatus.blockedUntil` tells and the message shows, or else
    /// until the server's administrator unblocks it.
    public static let activationBlocked = Self("activationBlocked")
    /// The activation is gone from the server.
    public static let activationRemoved = Self("activationRemoved")
    /// The server has not committed the activation yet, so it accepts no signature.
    public static let activationPending = Self("activationPending")
    /// The server refused to create, or does not know, the activation.
    public static let activationFailed = Self("activationFailed")
    /// Client and server counters are too far apart to meet again: the activation must be replaced.
    public static let deadlock = Self("deadlock")
    /// The string is not a list of languages.
    public static let invalidLanguage = Self("invalidLanguage")
    /// The server could not agree on another key for the password, which stays as it was.
    public static let passwordChangeFailed = Self("passwordChangeFailed")
    /// The server could not add or remove the biometry factor.
    public static let biometryChangeFailed = Self("biometryChangeFailed")
    /// The server has nothing to say about the activation's user, or could not find it out.
    public static let userInfoFailed = Self("userInfoFailed")
    /// The server could not tell how it is.
    public static let serverStatusFailed = Self("serverStatusFailed")
    /// The server could not hand out its configuration, or is not configured for what was asked.
    public static let serverConfigurationFailed = Self("serverConfigurationFailed")
    /// The server made no activation code for another device.
    public static let activationCodeFailed = Self("activationCodeFailed")
    /// A server behind the one that was asked did not answer. It may have carried out the request; asking again may help.
    public static let remoteCommunicationFailed = Self("remoteCommunicationFailed")
    /// The server calls the request malformed.
    public static let invalidRequest = Self("invalidRequest")
    /// The server does not know this client's temporary encryption key; it was already fetched anew once.
    public static let temporaryKeyRefused = Self("temporaryKeyRefused")
    /// The server could not open an encrypted request.
    public static let encryptionFailed = Self("encryptionFailed")
    /// The server would not unlock the vault.
    public static let vaultUnlockFailed = Self("vaultUnlockFailed")
    /// The server reported an error with a code of its own; see ``MobileTokenError/serverCode``.
    public static let serverError = Self("serverError")
    /// An HTTP error without the server's own envelope: most often the page of a proxy. The server may have carried out the request.
    public static let httpStatus = Self("httpStatus")
    /// The response cannot be read, or does not prove that it comes from the server.
    public static let invalidResponse = Self("invalidResponse")

    // MARK: What the network did

    /// No connection to the server. Nothing was sent.
    public static let noConnection = Self("noConnection")
    /// The connection ended before the response was whole. The server may have carried out the request.
    public static let connectionLost = Self("connectionLost")
    /// No response in time. The server may have carried out the request.
    public static let timeout = Self("timeout")
    /// The server's certificate or key was not accepted.
    public static let tlsFailed = Self("tlsFailed")
    /// The transport failed in a way of its own. The server may have carried out the request.
    public static let networkUnknown = Self("networkUnknown")

    // MARK: What happened here

    /// The time limit of a waiting call is over; ``MobileTokenError/underlying`` is the last failure meanwhile, if there
    /// was one. Nothing was changed.
    public static let deadlinePassed = Self("deadlinePassed")

    /// The server made the activation, but it could not be stored: the code is used. The message says which activation is to
    /// be removed at the server, and ``MobileTokenError/underlying`` why it could not be stored.
    public static let activationNotSaved = Self("activationNotSaved")

    /// The server made the activation and it is stored, but the server could not be told so: nothing can be signed before
    /// `Activation.confirm(password:)`.
    public static let activationNotConfirmed = Self("activationNotConfirmed")

    /// The store could not read or write.
    public static let storeFailed = Self("storeFailed")
    /// The cryptographic library failed, which is not the caller's doing.
    public static let cryptographyFailed = Self("cryptographyFailed")
}
