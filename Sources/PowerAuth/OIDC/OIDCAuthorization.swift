import Synchronization

/// One attempt to activate with an OpenID provider: the address to open, and the proof that what comes back belongs to it.
///
/// ```swift
/// let authorization = try await client.oidc(providerID: "bank")
/// let callback = try await browser.open(authorization.authorizeURL, until: authorization.redirectURL)
/// let activation = try await client.activate(oidc: authorization, callback: callback, password: password)
/// ```
///
/// Good for one answer of the provider, and for this process: it is stored nowhere. Neither its description nor an error
/// shows its secrets.
public final class OIDCAuthorization: Sendable {
    /// The provider, as the server knows it.
    public let providerID: String
    /// The address to open in a browser. It holds the attempt's state and nonce: do not log it.
    public let authorizeURL: String
    /// The address that the provider leads back to, with the parameters in its query.
    public let redirectURL: String
    private let attempt: Mutex<OIDCAttempt>

    init(_ attempt: OIDCAttempt) {
        self.providerID = attempt.configuration.providerID
        self.authorizeURL = attempt.authorizeURL
        self.redirectURL = attempt.configuration.redirectURL
        self.attempt = Mutex(attempt)
    }

    /// Reads the address that the provider led back to.
    func credentials(from callback: String) throws(MobileTokenError) -> OIDCCredentials {
        try self.attempt.withLock { (attempt) throws(MobileTokenError) in try attempt.accept(callback) }
    }
}

extension OIDCAuthorization: CustomStringConvertible, CustomReflectable {
    /// No secret.
    public var description: String { "<OpenID authorization>" }
    /// Nothing to look into.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
