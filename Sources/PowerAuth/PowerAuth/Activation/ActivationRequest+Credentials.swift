public import ExactJSON
public import PowerAuthClient

extension ActivationRequest {
    /// Passed to the server's own code that checks the activation.
    public var customAttributes: [String: JSONValue] {
        get { self.attributes }
        set { self.attributes = newValue }
    }

    /// Creates a request with a recovery code and its PUK.
    public init(recoveryCode: String, puk: String) {
        self.init(credentials: .recovery(code: recoveryCode, puk: puk))
    }

    /// Creates a request with custom attributes that the server's own code identifies the user by.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidRequest`` for an empty dictionary.
    public init(identityAttributes: [String: String]) throws(MobileTokenError) {
        guard !identityAttributes.isEmpty else {
            throw MobileTokenError(.invalidRequest, "An attribute is missing that tells the server the user")
        }
        self.init(credentials: .custom(identityAttributes))
    }

    /// Creates a request with the redirect address of an OpenID provider.
    ///
    /// The first address with the attempt's state consumes the attempt, even if it is invalid otherwise. An address without that
    /// state changes nothing, because anyone could send it.
    ///
    /// - Parameters:
    ///   - authorization: The attempt from ``MobileTokenClient/oidc(providerID:)``.
    ///   - callback: The complete address, byte for byte as the browser received it.
    /// - Throws: ``MobileTokenError/Code/oidcRedirectMismatch``, ``MobileTokenError/Code/oidcStateMismatch``,
    ///   ``MobileTokenError/Code/oidcParameterRepeated``, ``MobileTokenError/Code/oidcCodeMissing``,
    ///   ``MobileTokenError/Code/oidcRefused`` with the provider's code as ``MobileTokenError/serverCode``, or
    ///   ``MobileTokenError/Code/oidcAttemptUsed``.
    public init(oidc authorization: OIDCAuthorization, callback: String) throws(MobileTokenError) {
        self.init(credentials: .oidc(try authorization.credentials(from: callback)))
    }
}
