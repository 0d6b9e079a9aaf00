package import PowerAuthCrypto

/// The server's response to a request for a temporary key. A token signed with ECDSA by the application's master key, or in the
/// activation scope by the server's key of the activation. Claims: `sub` (the key's identifier), `applicationKey`,
/// `activationId`, `challenge`, `publicKey`, `iat` and `exp` in seconds, `iat_ms` and `exp_ms` in milliseconds.
package typealias TemporaryKeyResponse = IssuedKey<P256PublicKey>

extension IssuedKey<P256PublicKey> {
    /// Parses and verifies a response as a whole.
    ///
    /// - Parameters:
    ///   - signer: The application's master key, or the server's key of the activation.
    ///   - request: The client's request.
    ///   - now: The time in milliseconds since 1970; a key that expires now has expired.
    package init(
        jwt: String,
        signedBy signer: P256PublicKey,
        answering request: TemporaryKeyRequest,
        now: Int64
    ) throws(TemporaryKeyError) {
        guard let token = JSONWebToken(jwt) else { throw .malformed }
        guard token.algorithm == .es256 else { throw .wrongAlgorithm }
        guard signer.isValid(rawSignature: token.signature, for: token.signingInput) else { throw .invalidSignature }
        guard let claims = token.claims(Claims.self) else { throw .malformed }
        try claims.first.check(answering: request)
        let (issuedAt, expiresAt) = try claims.first.times()
        guard expiresAt > now else { throw .expired }
        guard let point = Base64.decode(claims.second.publicKey), let publicKey = try? P256PublicKey(x963: point) else {
            throw .invalidPublicKey
        }
        self.init(keyID: claims.first.sub, key: publicKey, issuedAt: issuedAt, expiresAt: expiresAt)
    }

    package func jwt(
        signedBy signer: P256PrivateKey,
        answering request: TemporaryKeyRequest
    ) throws(CryptoError) -> String {
        let claims = self.claims(PublicKeyClaim(publicKey: Base64.encode(self.key.uncompressed)), answering: request)
        return try JSONWebToken.encode(claims: claims, algorithm: .es256) { (input) throws(CryptoError) in
            try signer.rawSignature(for: input)
        }
    }

    private typealias Claims = JoinedClaims<TemporaryKeyResponseClaims, PublicKeyClaim>

    private struct PublicKeyClaim: Codable {
        let publicKey: String
    }
}

extension TemporaryKeyResponseClaims {
    /// Returns the times in milliseconds, converted from seconds if necessary.
    fileprivate func times() throws(TemporaryKeyError) -> (issuedAt: Int64, expiresAt: Int64) {
        guard let issuedAt = self.iat_ms ?? self.iat?.inMilliseconds,
            let expiresAt = self.exp_ms ?? self.exp?.inMilliseconds
        else { throw .malformed }
        return (issuedAt, expiresAt)
    }
}

extension Int64 {
    /// Converts seconds to milliseconds; `nil` on overflow.
    fileprivate var inMilliseconds: Int64? {
        let (product, overflow) = self.multipliedReportingOverflow(by: 1000)
        return overflow ? nil : product
    }
}
