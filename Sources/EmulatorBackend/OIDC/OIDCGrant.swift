import Basics
import EmulatorMessages
import PowerAuthCrypto

/// The sign-in that an authorization code represents.
struct OIDCGrant: Sendable, Codable, Equatable {
    let providerID: String
    let userID: String
    let nonce: String
    /// SHA-256 of the client's secret in base64url; `nil` when the client gave none.
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

    /// Refuses an activation unless the code can be used by this client and now.
    ///
    /// - Parameters:
    ///   - verifier: The secret that the challenge was made of. A code that was asked for without a challenge takes no verifier.
    ///   - nonce: The one that the code was asked for with.
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
    /// The bound on kept codes, and the time for which they are kept after they have expired, so that a late one is refused by its own name.
    private static var grantCount: Int { 1000 }
    private static var grantAge: Milliseconds { 600_000 }

    /// Returns a provider that is switched on.
    func oidcProvider(_ id: String) -> EmulatorOIDCProvider? {
        guard let provider = self.state.oidcProviders[id], provider.id.isExactly(id), provider.isEnabled else {
            return nil
        }
        return provider
    }

    /// Gives out a code.
    mutating func issueCode(for grant: OIDCGrant, at now: Milliseconds) -> String {
        self.state.oidcGrants.removeAll { $0.expires + Self.grantAge <= now }
        if self.state.oidcGrants.count >= Self.grantCount {
            // A quarter at a time, so that they are not sorted for each code.
            self.state.oidcGrants.keepFirst(Self.grantCount * 3 / 4) { $0.issued > $1.issued }
        }
        let code = Base64URL.encode(self.state.randomness.bytes(32))
        self.state.oidcGrants[Self.key(ofCode: code)] = grant
        return code
    }

    /// Returns what a code stands for, and the key that it is kept under.
    func oidcGrant(of code: String) throws(Refusal) -> (key: String, grant: OIDCGrant) {
        let key = Self.key(ofCode: code)
        guard let grant = self.state.oidcGrants[key] else { throw .activation("the code is unknown") }
        return (key, grant)
    }

    /// By its hash: two codes that are equal to a `String` need not be the same.
    private static func key(ofCode code: String) -> String { Base64URL.encode(SHA256.hash(Array(code.utf8))) }
}
