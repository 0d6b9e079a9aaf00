import Basics
package import PowerAuthCrypto

/// A request for a temporary key: the claims of a token with an HMAC.
package protocol TemporaryKeyRequestClaims: Codable, Sendable {
    /// The token's algorithm.
    static var algorithm: JSONWebToken.Algorithm { get }
    /// Indicates whether servers accept a token with surrounding whitespace, padding, or no challenge.
    static var isReadTolerantly: Bool { get }

    /// Returns the tag of a token.
    static func tag(of signingInput: [UInt8], key: SecretBytes) -> [UInt8]

    var applicationKey: String { get }
    /// The activation; `nil` in the application scope.
    var activationID: String? { get }
    /// Random bytes in Base64, which the response repeats.
    var challenge: String? { get }
}

extension TemporaryKeyRequestClaims {
    /// Returns the signed token.
    package func jwt(key: SecretBytes) -> String {
        JSONWebToken.encode(claims: self, algorithm: Self.algorithm) { Self.tag(of: $0, key: key) }
    }
}

/// A received request for a temporary key. The server looks up the secrets of the claimed application and activation to verify
/// it.
package struct UnverifiedTemporaryKeyRequest<Request: TemporaryKeyRequestClaims>: Sendable {
    private let token: JSONWebToken
    private let request: Request

    /// The claimed application.
    package var applicationKey: String { self.request.applicationKey }
    /// The claimed activation.
    package var activationID: String? { self.request.activationID }

    /// The times in a token. Servers ignore them, but require numbers.
    private struct Times: Decodable {
        let iat: Double?
        let exp: Double?
        let nbf: Double?
    }

    package init(jwt: String) throws(TemporaryKeyError) {
        var bare = jwt
        if Request.isReadTolerantly {
            let characters = jwt.utf8.trimming { $0 <= 0x20 }.filter { $0 != UInt8(ascii: "=") }
            bare = String(decoding: characters, as: UTF8.self)
        }
        guard let token = JSONWebToken(bare), let request = token.claims(Request.self), token.claims(Times.self) != nil,
            Request.isReadTolerantly || request.challenge != nil
        else { throw .malformed }
        self.token = token
        self.request = request
    }

    /// Verifies algorithm and signature, and returns the request.
    package func verified(key: SecretBytes) throws(TemporaryKeyError) -> Request {
        guard self.token.algorithm == Request.algorithm else { throw .wrongAlgorithm }
        guard constantTimeEquals(Request.tag(of: self.token.signingInput, key: key), self.token.signature) else {
            throw .invalidSignature
        }
        return self.request
    }
}
