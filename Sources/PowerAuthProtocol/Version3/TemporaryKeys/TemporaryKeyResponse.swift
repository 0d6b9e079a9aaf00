package import PowerAuthCrypto

/// The server's answer to a request for a temporary key.
///
/// A token signed with ECDSA by the application's master key, or in the scope of an activation by the server's key of that
/// activation. Claims: `sub` (the key's identifier), `applicationKey`, `activationId`, `challenge`, `publicKey`, `iat` and
/// `exp` in seconds, `iat_ms` and `exp_ms` in milliseconds.
package struct TemporaryKeyResponse: Sendable, Equatable {
    package let keyID: String
    package let publicKey: P256PublicKey
    /// The server's time when it answered, in milliseconds since 1970.
    package let issuedAt: Int64
    /// When the key ends, in milliseconds since 1970.
    package let expiresAt: Int64

    /// Describes a key that the server has made.
    package init(keyID: String, publicKey: P256PublicKey, issuedAt: Int64, expiresAt: Int64) {
        self.keyID = keyID
        self.publicKey = publicKey
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
    }

    /// Reads and checks an answer. Nothing of it counts unless all of it is right.
    ///
    /// - Parameters:
    ///   - signer: The master key of the application, or the server's key of the activation.
    ///   - request: What was asked.
    ///   - now: The time in milliseconds since 1970; a key that ends at this instant is over.
    package init(
        jwt: String,
        signedBy signer: P256PublicKey,
        answering request: TemporaryKeyRequest,
        now: Int64
    ) throws(TemporaryKeyError) {
        guard let token = JSONWebToken(jwt) else { throw .malformed }
        guard token.algorithm == .es256 else { throw .wrongAlgorithm }
        guard signer.isValid(rawSignature: token.signature, for: token.signingInput) else { throw .invalidSignature }
        guard let claims = token.claims(Claims.self), !claims.sub.isEmpty else { throw .malformed }
        guard claims.applicationKey == request.applicationKey else { throw .wrongApplicationKey }
        guard claims.activationId == request.activationID else { throw .wrongActivationID }
        guard claims.challenge == request.challenge else { throw .wrongChallenge }
        let (issuedAt, expiresAt) = try claims.times()
        guard expiresAt > now else { throw .expired }
        guard let point = Base64.decode(claims.publicKey), let publicKey = try? P256PublicKey(x963: point) else {
            throw .invalidPublicKey
        }
        self.init(keyID: claims.sub, publicKey: publicKey, issuedAt: issuedAt, expiresAt: expiresAt)
    }

    /// The signed token, as the server sends it.
    package func jwt(
        signedBy signer: P256PrivateKey,
        answering request: TemporaryKeyRequest
    ) throws(CryptoError) -> String {
        let claims = Claims(
            sub: self.keyID,
            applicationKey: request.applicationKey,
            activationId: request.activationID,
            challenge: request.challenge,
            publicKey: Base64.encode(self.publicKey.uncompressed),
            iat: self.issuedAt / 1000,
            exp: self.expiresAt / 1000,
            iat_ms: self.issuedAt,
            exp_ms: self.expiresAt
        )
        return try JSONWebToken.encode(claims: claims, algorithm: .es256) { (input) throws(CryptoError) in
            try signer.rawSignature(for: input)
        }
    }

    // Named as they are spelled in the token.
    private struct Claims: Codable {
        let sub: String
        let applicationKey: String
        let activationId: String?
        let challenge: String?
        let publicKey: String
        let iat: Int64?
        let exp: Int64?
        let iat_ms: Int64?
        let exp_ms: Int64?

        /// Milliseconds where the server tells them, else its seconds.
        func times() throws(TemporaryKeyError) -> (issuedAt: Int64, expiresAt: Int64) {
            guard let issuedAt = self.iat_ms ?? self.iat?.inMilliseconds,
                let expiresAt = self.exp_ms ?? self.exp?.inMilliseconds
            else { throw .malformed }
            return (issuedAt, expiresAt)
        }
    }
}

extension Int64 {
    /// Seconds as milliseconds; `nil` when there are more than fit.
    fileprivate var inMilliseconds: Int64? {
        let (product, overflow) = self.multipliedReportingOverflow(by: 1000)
        return overflow ? nil : product
    }
}
