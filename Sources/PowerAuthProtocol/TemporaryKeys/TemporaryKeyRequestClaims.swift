package import PowerAuthCrypto

/// A client's request for a temporary key in one version of the protocol: the claims of a token that an HMAC signs.
package protocol TemporaryKeyRequestClaims: Codable, Sendable {
    /// The algorithm of the token.
    static var algorithm: JSONWebToken.Algorithm { get }

    /// Returns the tag of a token by that algorithm.
    static func tag(of signingInput: [UInt8], key: SecretBytes) -> [UInt8]

    var applicationKey: String { get }
    /// The activation that asks; `nil` in the scope of the application.
    var activationID: String? { get }
    /// Random bytes in Base64, which the response must repeat.
    var challenge: String { get }
}

extension TemporaryKeyRequestClaims {
    /// Returns the signed token, as the client sends it.
    package func jwt(key: SecretBytes) -> String {
        JSONWebToken.encode(claims: self, algorithm: Self.algorithm) { Self.tag(of: $0, key: key) }
    }
}

/// A request for a temporary key as the server receives it. The server must look up the secrets of the application and the
/// activation that it names before it can be verified.
package struct UnverifiedTemporaryKeyRequest<Request: TemporaryKeyRequestClaims>: Sendable {
    private let token: JSONWebToken
    private let request: Request

    /// The application that the request claims to come from.
    package var applicationKey: String { self.request.applicationKey }
    /// The activation that the request claims to come from.
    package var activationID: String? { self.request.activationID }

    /// Reads a token.
    package init(jwt: String) throws(TemporaryKeyError) {
        guard let token = JSONWebToken(jwt), let request = token.claims(Request.self), !request.challenge.isEmpty else {
            throw .malformed
        }
        self.token = token
        self.request = request
    }

    /// Returns the request if its algorithm and signature are right.
    package func verified(key: SecretBytes) throws(TemporaryKeyError) -> Request {
        guard self.token.algorithm == Request.algorithm else { throw .wrongAlgorithm }
        guard constantTimeEquals(Request.tag(of: self.token.signingInput, key: key), self.token.signature) else {
            throw .invalidSignature
        }
        return self.request
    }
}
