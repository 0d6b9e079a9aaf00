public import PowerAuthClient

/// Answers of OpenID providers.
extension MobileTokenError.Code {
    /// The address does not contain the attempt's state: it belongs to another attempt or was forged. The attempt is unchanged.
    public static let oidcStateMismatch = Self(rawValue: "oidcStateMismatch")
    /// The address is not the provider's redirect address. The attempt is unchanged.
    public static let oidcRedirectMismatch = Self(rawValue: "oidcRedirectMismatch")
    /// The address repeats a parameter, which is ambiguous.
    public static let oidcParameterRepeated = Self(rawValue: "oidcParameterRepeated")
    /// The provider's redirect contains no usable code.
    public static let oidcCodeMissing = Self(rawValue: "oidcCodeMissing")
    /// The provider did not sign the user in; ``MobileTokenError/serverCode`` is its code, such as `access_denied`.
    public static let oidcRefused = Self(rawValue: "oidcRefused")
    /// The provider has already responded to this attempt. An attempt is valid for one response.
    public static let oidcAttemptUsed = Self(rawValue: "oidcAttemptUsed")
}
