import PowerAuthClient
import Synchronization

/// One attempt to activate with an OpenID provider: the address to open, and the secrets that match the redirect to it.
///
/// ```swift
/// let authorization = try await client.oidc(providerID: "bank")
/// let callback = try await browser.open(authorization.authorizeURL, until: authorization.redirectURL)
/// let activation = try await client.activate(oidc: authorization, callback: callback, password: password)
/// ```
///
/// Valid for one response of the provider, in this process only. Neither its description nor an error shows its secrets.
public final class OIDCAuthorization: Sendable {
    /// The provider, as named at the server.
    public let providerID: String
    /// The address to open in a browser. It contains the attempt's state and nonce: do not log it.
    public let authorizeURL: String
    /// The address that the provider redirects to, with the parameters in its query.
    public let redirectURL: String
    private let attempt: Mutex<OIDCAttempt>

    init(_ attempt: OIDCAttempt) {
        self.providerID = attempt.configuration.providerID
        self.authorizeURL = attempt.authorizeURL
        self.redirectURL = attempt.configuration.redirectURL
        self.attempt = Mutex(attempt)
    }

    func credentials(from callback: String) throws(MobileTokenError) -> OIDCCredentials {
        try self.attempt.withLock { (attempt) throws(MobileTokenError) in try attempt.accept(callback) }
    }
}

extension OIDCAuthorization: CustomStringConvertible, CustomReflectable {
    /// A fixed text without secrets.
    public var description: String { "<OpenID authorization>" }
    /// Empty, so that `dump` reveals nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
