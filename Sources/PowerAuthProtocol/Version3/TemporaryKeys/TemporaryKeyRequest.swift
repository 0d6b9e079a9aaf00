package import PowerAuthCrypto

/// The client's request for a temporary key, which version 3.3 encrypts for.
///
/// A token signed with HMAC, with the claims `applicationKey`, `activationId` (in the scope of an activation) and `challenge`.
/// Its key is the decoded `APP_SECRET`, or `KDF_INTERNAL(KEY_TRANSPORT, decoded APP_SECRET)` in the scope of an activation.
package struct TemporaryKeyRequest: Sendable, Equatable {
    /// How many random bytes a client's challenge has.
    package static let challengeByteCount = 18

    package let applicationKey: String
    /// `nil` in the scope of the application.
    package let activationID: String?
    /// What the answer must repeat: Base64 of random bytes.
    package let challenge: String

    /// Makes a request.
    ///
    /// - Parameter challenge: 18 random bytes.
    package init(applicationKey: String, activationID: String?, challenge: [UInt8]) {
        self.applicationKey = applicationKey
        self.activationID = activationID
        self.challenge = Base64.encode(challenge)
    }

    /// The key that signs the request.
    ///
    /// - Parameter transportKey: `KEY_TRANSPORT` in the scope of an activation, `nil` in that of the application.
    package static func signingKey(applicationSecret: ApplicationSecret, transportKey: SecretBytes?) -> SecretBytes {
        guard let transportKey else { return applicationSecret.bytes }
        return KeyDerivation.deriveInternal(transportKey, index: applicationSecret.bytes.disclosed)
    }

    /// The signed token, as the client sends it.
    package func jwt(applicationSecret: ApplicationSecret, transportKey: SecretBytes?) -> String {
        let key = Self.signingKey(applicationSecret: applicationSecret, transportKey: transportKey)
        let claims = Claims(
            applicationKey: self.applicationKey,
            activationId: self.activationID,
            challenge: self.challenge
        )
        return JSONWebToken.encode(claims: claims, algorithm: .hs256) { HMACSHA256.authenticate($0, key: key) }
    }

    private struct Claims: Codable {
        let applicationKey: String
        let activationId: String?
        let challenge: String
    }

    /// A request as it arrived at the server, which must look up the secrets it names before it can be verified.
    package struct Unverified: Sendable {
        private let token: JSONWebToken
        private let request: TemporaryKeyRequest

        /// What the request says of itself.
        package var applicationKey: String { self.request.applicationKey }
        /// What the request says of itself.
        package var activationID: String? { self.request.activationID }

        /// Reads a token.
        package init(jwt: String) throws(TemporaryKeyError) {
            guard let token = JSONWebToken(jwt), let claims = token.claims(Claims.self), !claims.challenge.isEmpty
            else {
                throw .malformed
            }
            self.token = token
            self.request = TemporaryKeyRequest(claims: claims)
        }

        /// Checks algorithm and signature.
        package func verified(
            applicationSecret: ApplicationSecret,
            transportKey: SecretBytes?
        ) throws(TemporaryKeyError) -> TemporaryKeyRequest {
            guard self.token.algorithm == .hs256 else { throw .wrongAlgorithm }
            let key = signingKey(applicationSecret: applicationSecret, transportKey: transportKey)
            guard HMACSHA256.isValid(self.token.signature, for: self.token.signingInput, key: key) else {
                throw .invalidSignature
            }
            return self.request
        }
    }

    private init(claims: Claims) {
        self.applicationKey = claims.applicationKey
        self.activationID = claims.activationId
        self.challenge = claims.challenge
    }
}
