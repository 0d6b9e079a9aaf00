import Basics
import PowerAuthCrypto

/// The sign-in behind an authorization code.
struct OIDCGrant: Sendable, Codable, Equatable {
    let providerID: String
    let userID: String
    let nonce: String
    /// The SHA-256 of the client's secret in base64url; `nil` if the client sent none.
    let challenge: String?
    let issued: Milliseconds
    let expires: Milliseconds
    private(set) var isUsed = false

    init(_ request: OIDCAuthorizationRequest, _ provider: EmulatorOIDCProvider, userID: String, at now: Milliseconds) {
        self.providerID = provider.id
        self.userID = userID
        self.nonce = request.nonce
        self.challenge = request.challenge
        self.issued = now
        self.expires = now + provider.codeLifetime.inMilliseconds
    }

    /// Refuses an activation unless this client can use the code now.
    ///
    /// - Parameters:
    ///   - verifier: The challenge's secret. A code requested without a challenge takes no verifier.
    ///   - nonce: The nonce of the code's request.
    func check(
        providerID: String,
        verifier: String?,
        nonce: String,
        at now: Milliseconds
    ) throws(Refusal) {
        guard self.providerID.isExactly(providerID) else { throw .activation("the code is of another provider") }
        guard !self.isUsed else { throw .activation("the code was used") }
        guard now < self.expires else { throw .activation("the code has expired") }
        try self.check(verifier: verifier)
        guard constantTimeEquals(Array(self.nonce.utf8), Array(nonce.utf8)) else {
            throw .activation("the nonce is wrong")
        }
    }

    private func check(verifier: String?) throws(Refusal) {
        guard self.challenge != nil || verifier != nil else { return }
        guard let verifier else { throw .activation("the code verifier is missing") }
        guard let challenge, Self.isVerifier(verifier),
            constantTimeEquals(
                Array(Base64URL.encode(SHA256.hash(Array(verifier.utf8))).utf8),
                Array(challenge.utf8)
            )
        else { throw .activation("the code verifier is wrong") }
    }

    mutating func use() { self.isUsed = true }

    private static func isVerifier(_ verifier: String) -> Bool {
        (43...128).contains(verifier.utf8.count)
            && verifier.utf8.allSatisfy { $0.isASCIILetterOrDigit || "-._~".utf8.contains($0) }
    }
}

extension Backend {
    /// The maximum number of kept codes, and their time after expiry, so that a late one gets its own refusal.
    private static var grantCount: Int { 1000 }
    private static var grantAge: Milliseconds { 600_000 }

    /// Returns an enabled provider.
    func oidcProvider(_ id: String) -> EmulatorOIDCProvider? {
        guard let provider = self.state.oidcProviders[id], provider.id.isExactly(id), provider.isEnabled else {
            return nil
        }
        return provider
    }

    mutating func issueCode(for grant: OIDCGrant, at now: Milliseconds) -> String {
        self.state.oidcGrants.removeAll { $0.expires + Self.grantAge <= now }
        if self.state.oidcGrants.count >= Self.grantCount {
            // A quarter at a time, to avoid sorting for every code.
            self.state.oidcGrants.keepFirst(Self.grantCount * 3 / 4) { $0.issued > $1.issued }
        }
        let code = Base64URL.encode(self.state.randomness.bytes(32))
        self.state.oidcGrants[Self.key(ofCode: code)] = grant
        return code
    }

    func oidcGrant(of code: String) throws(Refusal) -> (key: String, grant: OIDCGrant) {
        let key = Self.key(ofCode: code)
        guard let grant = self.state.oidcGrants[key] else { throw .activation("the code is unknown") }
        return (key, grant)
    }

    /// Uses the code's hash, because two strings that compare equal may differ in bytes.
    private static func key(ofCode code: String) -> String { Base64URL.encode(SHA256.hash(Array(code.utf8))) }
}
