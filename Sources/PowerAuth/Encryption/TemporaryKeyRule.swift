/// A call that is encrypted for a temporary key, by what a server does when it does not know the key.
///
/// No server says so: it could not open the request, and each kind of call ends in its own way.
enum EncryptedCall: Sendable, Hashable, CaseIterable {
    /// Neither signed nor with a token: what is known of the user, configuration, an application's own.
    case unauthenticated
    /// The status of version 4, which changes nothing.
    case activationStatus
    /// A new activation: the credentials, such as a one-time password, would be tried twice.
    case activationCreation
    /// With a token, which counts nothing.
    case token
    /// A standard call whose code covers the envelope. The code is right, so the counter has moved at most, and no failure is
    /// counted.
    case signedEnvelope
    /// A call whose code covers what is in the envelope. Unopened, it is checked against something else: a failure that counts.
    case signedContent

    /// A call without a code or a token.
    init(unauthenticated path: String) {
        self =
            switch path {
            case "/pa/v4/activation/status": .activationStatus
            case "/pa/v3/activation/create", "/pa/v4/activation/create": .activationCreation
            default: .unauthenticated
            }
    }

    /// A call with a code, by what the code covers and not by its path: an application may choose any.
    init(signed body: RequestBody) {
        self = body.signedPlaintext == nil ? .signedEnvelope : .signedContent
    }
}

/// The verdict on a temporary key after the failure of a request that was encrypted for it.
enum TemporaryKeyVerdict: Sendable, Hashable {
    /// The failure has another cause.
    case keep
    /// The key may be unknown. Whoever asks next fetches another one.
    case drop
    /// The key may be unknown, and asking again does no harm.
    case renew

    /// Judges the failure of a call.
    ///
    /// A call is repeated only where the server has counted nothing: not one whose code covers the content, for each of these
    /// brings the activation nearer to being blocked.
    init(_ call: EncryptedCall, _ error: MobileTokenError) {
        switch error.code {
        case .temporaryKeyRefused: self = call == .signedContent ? .drop : .renew
        // In so many words, or by an empty answer; without either it is a failure of our own.
        case .encryptionFailed where error.serverCode != nil || error.httpStatus != nil:
            self = call == .signedContent ? .drop : .renew
        // An answer that cannot be opened may be to another key; what the call did is not known.
        case .invalidResponse: self = error.httpStatus.map { (200..<300).contains($0) } ?? false ? .drop : .keep
        default: self = Self.hidden(in: error, of: call)
        }
    }

    /// Judges an error that names something else.
    private static func hidden(in error: MobileTokenError, of call: EncryptedCall) -> Self {
        switch call {
        case .activationStatus: error.serverCode == "ERR_ACTIVATION" ? .renew : .keep
        case .activationCreation: error.serverCode == "ERR_ACTIVATION" ? .drop : .keep
        case .token, .signedContent: error.httpStatus == 401 ? .drop : .keep
        case .signedEnvelope: Self.refusesEnvelope(error) ? .renew : .keep
        case .unauthenticated: .keep
        }
    }

    /// Returns whether a standard call was refused after its code was found right, or before it was looked at.
    private static func refusesEnvelope(_ error: MobileTokenError) -> Bool {
        switch error.serverCode {
        case "ERR_SECURE_VAULT", "ERR_PASSWORD_CHANGE", "ERR_BIOMETRY", "ERR_UPGRADE": true
        case "ERR_AUTHENTICATION":
            ["POWER_AUTH_TOKEN_ERROR", "POWER_AUTH_RECOVERY_CONFIRM_ERROR"].contains(error.message)
        default: false
        }
    }
}
