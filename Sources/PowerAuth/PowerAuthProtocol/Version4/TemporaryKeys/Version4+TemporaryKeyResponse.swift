import Foundation
package import PowerAuthCrypto

extension Version4 {
    /// The server's response to a request for a temporary key. Claims signed with every algorithm of the suite, by the
    /// application's master keys, or in the activation scope by the server's keys of the activation.
    package typealias TemporaryKeyResponse = IssuedKey<SharedSecretResponse>
}

extension IssuedKey<Version4.SharedSecretResponse> {
    /// Parses and verifies a response as a whole.
    ///
    /// - Parameters:
    ///   - keys: The application's master keys, or the server's keys of the activation.
    ///   - request: The client's request.
    ///   - now: The time in milliseconds since 1970; a key that expires now has expired.
    package init(
        jws: String,
        signedBy keys: Version4.SigningPublicKeys,
        answering request: Version4.TemporaryKeyRequest,
        now: Int64
    ) throws(TemporaryKeyError) {
        guard let signed = JSONWebSignature(jws) else { throw .malformed }
        do throws(JSONWebSignature.Refusal) {
            try signed.verify(signedBy: keys)
        } catch {
            throw error == .wrongAlgorithms ? .wrongAlgorithm : .invalidSignature
        }
        guard let claims = try? JSONDecoder().decode(Claims.self, from: Data(signed.payload)),
            let issuedAt = claims.first.iat_ms, let expiresAt = claims.first.exp_ms
        else { throw .malformed }
        try claims.first.check(answering: request)
        guard expiresAt > now else { throw .expired }
        self.init(
            keyID: claims.first.sub,
            key: claims.second.sharedSecretResponse,
            issuedAt: issuedAt,
            expiresAt: expiresAt
        )
    }

    package func jws(
        signedBy keys: Version4.SigningPrivateKeys,
        answering request: Version4.TemporaryKeyRequest
    ) throws(CryptoError) -> String {
        let claims = self.claims(SharedSecretClaim(sharedSecretResponse: self.key), answering: request)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and integers always encode; receivers would refuse an empty payload.
        let payload = (try? encoder.encode(claims)).map { [UInt8]($0) } ?? []
        return try JSONWebSignature.sign(payload, with: keys)
    }

    private typealias Claims = JoinedClaims<TemporaryKeyResponseClaims, SharedSecretClaim>

    private struct SharedSecretClaim: Codable {
        let sharedSecretResponse: Version4.SharedSecretResponse
    }
}
