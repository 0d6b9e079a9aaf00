/// A kind of encrypted call, by the server's reaction to an unknown temporary key. No server reports an unknown key: it fails to
/// decrypt, and each kind of call fails in its own way.
enum EncryptedCall: Sendable, Hashable, CaseIterable {
    /// Neither signed nor with a token: user info, configuration, an application's own calls.
    case unauthenticated
    /// The status of version 4, which changes nothing.
    case activationStatus
    /// A new activation. A retry would try the credentials twice, such as a one-time password.
    case activationCreation
    /// With a token, which counts no failure.
    case token
    /// A standard call with a code over the envelope. The code is right, so no failure is counted, though the counter may have
    /// moved. If it fails with HTTP 401, as wrong codes do, the status tells the two apart: see ``ExchangeRepairs``.
    case signedEnvelope
    /// A call with a code over the plaintext. If the server cannot decrypt it, the code fails and a failure is counted.
    case signedContent

    /// Classifies a call without a code or a token.
    init(unauthenticated path: String) {
        self =
            switch path {
            case "/pa/v4/activation/status": .activationStatus
            case "/pa/v3/activation/create", "/pa/v4/activation/create": .activationCreation
            default: .unauthenticated
            }
    }

    /// Classifies a signed call by the bytes that the code covers, because an application may choose any path.
    init(signed body: EncodedBody) {
        self = body.signedPlaintext == nil ? .signedEnvelope : .signedContent
    }
}

enum TemporaryKeyVerdict: Sendable, Hashable {
    /// The failure has another cause.
    case keep
    /// The key may be unknown: the next request fetches another one.
    case drop
    /// The key may be unknown, and a retry is harmless.
    case renew

    /// Judges the failure of a call. A retry is allowed only if the server counted no failure. So a call whose code covers the
    /// plaintext is never repeated.
    init(_ call: EncryptedCall, _ error: MobileTokenError) {
        switch error.code {
        case .temporaryKeyRefused: self = call == .signedContent ? .drop : .renew
        // An explicit server code or an empty response; without either the failure is local.
        case .encryptionFailed where error.serverCode != nil || error.httpStatus != nil:
            // An empty response may come from another party, after a new activation's code was consumed.
            let isSaid = error.serverCode != nil || call != .activationCreation
            self = call == .signedContent || !isSaid ? .drop : .renew
        // An undecryptable response may be for another key; the effect of the call is unknown.
        case .invalidResponse: self = error.httpStatus.map { (200..<300).contains($0) } ?? false ? .drop : .keep
        default: self = Self.hidden(in: error, of: call)
        }
    }

    /// Judges an error that names another cause.
    private static func hidden(in error: MobileTokenError, of call: EncryptedCall) -> Self {
        switch call {
        case .activationStatus: error.serverCode == "ERR_ACTIVATION" ? .renew : .keep
        case .activationCreation: error.serverCode == "ERR_ACTIVATION" ? .drop : .keep
        case .token, .signedContent: error.httpStatus == 401 ? .drop : .keep
        case .signedEnvelope: error.serverCode.map { Self.refusalsOfEnvelopes.contains($0) } ?? false ? .renew : .keep
        case .unauthenticated: .keep
        }
    }

    private static let refusalsOfEnvelopes: Set = [
        "ERR_SECURE_VAULT", "ERR_PASSWORD_CHANGE", "ERR_BIOMETRY", "ERR_UPGRADE",
    ]
}
