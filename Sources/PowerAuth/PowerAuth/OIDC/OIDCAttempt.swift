import Basics
import PowerAuthClient
import PowerAuthCrypto

/// One attempt to sign a user in with a provider. The first address with the attempt's state consumes the attempt, even if it is
/// invalid otherwise. An address without that state changes nothing, because anyone could send it.
struct OIDCAttempt: Sendable {
    let configuration: OIDCConfiguration
    private let state: SecretBytes
    private let nonce: SecretBytes
    private let codeVerifier: SecretBytes?
    private var isUsed = false

    init(_ configuration: OIDCConfiguration, randomness: Randomness) {
        func secret() -> SecretBytes { Base64URL.encode(randomness.secretBytes(32)) }
        self.configuration = configuration
        self.state = secret()
        self.nonce = secret()
        self.codeVerifier = configuration.usesPKCE ? secret() : nil
    }

    var authorizeURL: String {
        var parameters: [(name: String, value: String)] = [
            ("response_type", "code"), ("client_id", self.configuration.clientID),
            ("redirect_uri", self.configuration.redirectURL), ("scope", self.configuration.scopes),
            ("state", self.state.text), ("nonce", self.nonce.text),
        ]
        if let codeVerifier {
            let challenge = codeVerifier.withUnsafeBytes { Base64URL.encode(SHA256.hash(Array($0))) }
            parameters += [("code_challenge", challenge), ("code_challenge_method", "S256")]
        }
        let query = parameters.map { "\($0.name)=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
        let url = self.configuration.authorizeURL
        return url + (url.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + query
    }

    /// Reads the redirect address.
    ///
    /// - Throws: One of the `oidc…` codes.
    mutating func accept(_ callback: String) throws(MobileTokenError) -> OIDCCredentials {
        guard !self.isUsed else {
            throw MobileTokenError(
                .oidcAttemptUsed,
                "The provider has answered this attempt already; begin another one"
            )
        }
        guard let parameters = OIDCCallback(callback, redirect: self.configuration.redirectURL) else {
            throw MobileTokenError(.oidcRedirectMismatch, "The address is not the one that the provider leads back to")
        }
        guard let state = try parameters["state"], SecretBytes(copying: state) == self.state else {
            throw MobileTokenError(.oidcStateMismatch, "The address does not belong to this attempt")
        }
        self.isUsed = true
        if let error = try parameters["error"] {
            let name = String(decoding: error.prefix(64), as: UTF8.self)
            throw MobileTokenError(.oidcRefused, "The provider did not sign the user in", serverCode: name)
        }
        guard let code = try parameters["code"], Self.isCode(code) else {
            throw MobileTokenError(.oidcCodeMissing, "The provider led back without a code that can be used")
        }
        return OIDCCredentials(
            providerID: self.configuration.providerID,
            code: SecretBytes(copying: code),
            nonce: self.nonce,
            codeVerifier: self.codeVerifier
        )
    }

    /// A code is printable ASCII (RFC 6749).
    private static func isCode(_ code: [UInt8]) -> Bool {
        (1...4096).contains(code.count) && code.allSatisfy { (0x20...0x7E).contains($0) }
    }
}

/// The parameters of the redirect address, compared by bytes.
private struct OIDCCallback {
    private let parameters: [(name: [UInt8], value: [UInt8]?)]

    /// - Parameter redirect: The registered address, which the query follows.
    init?(_ callback: String, redirect: String) {
        let bytes = Array(callback.utf8)
        guard bytes.starts(with: redirect.utf8) else { return nil }
        let rest = bytes[redirect.utf8.count...].prefix { $0 != UInt8(ascii: "#") }
        let separator = UInt8(ascii: redirect.utf8.contains(UInt8(ascii: "?")) ? "&" : "?")
        guard rest.first == separator || rest.isEmpty else { return nil }
        self.parameters = rest.dropFirst().split(separator: UInt8(ascii: "&")).map { pair in
            let sides = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            return (
                PercentEncoding.decodeForm(sides.first ?? []) ?? [],
                sides.count > 1 ? PercentEncoding.decodeForm(sides[1]) : []
            )
        }
    }

    /// The value of a parameter; `nil` if missing or unreadable.
    ///
    /// - Throws: ``MobileTokenError/Code/oidcParameterRepeated`` for an ambiguous one.
    subscript(name: String) -> [UInt8]? {
        get throws(MobileTokenError) {
            let found = self.parameters.filter { $0.name.elementsEqual(name.utf8) }
            guard found.count < 2 else {
                throw MobileTokenError(.oidcParameterRepeated, "The address gives '\(name)' more than once")
            }
            return found.first?.value
        }
    }
}
