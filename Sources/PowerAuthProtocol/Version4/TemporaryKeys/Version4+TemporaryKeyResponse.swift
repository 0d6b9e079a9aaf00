import Foundation
package import PowerAuthCrypto

extension Version4 {
    /// The server's response to a request for a temporary key.
    ///
    /// Claims signed with every algorithm of the suite, by the master keys of the application, or in the scope of an activation
    /// by the server's keys of that activation.
    package struct TemporaryKeyResponse: Sendable, Equatable {
        package let keyID: String
        /// The server's half of the agreement on the key.
        package let sharedSecretResponse: SharedSecretResponse
        /// The server's time when it responded, in milliseconds since 1970.
        package let issuedAt: Int64
        /// The time when the key expires, in milliseconds since 1970.
        package let expiresAt: Int64

        /// Describes a key that the server made.
        package init(keyID: String, sharedSecretResponse: SharedSecretResponse, issuedAt: Int64, expiresAt: Int64) {
            self.keyID = keyID
            self.sharedSecretResponse = sharedSecretResponse
            self.issuedAt = issuedAt
            self.expiresAt = expiresAt
        }

        /// Reads and checks a response. Nothing of it is used unless all of it is right.
        ///
        /// - Parameters:
        ///   - keys: The master keys of the application, or the server's keys of the activation.
        ///   - request: The request that the client sent.
        ///   - now: The time in milliseconds since 1970; a key that expires at this instant has expired.
        package init(
            jws: String,
            signedBy keys: SigningPublicKeys,
            answering request: TemporaryKeyRequest,
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
                sharedSecretResponse: claims.second.sharedSecretResponse,
                issuedAt: issuedAt,
                expiresAt: expiresAt
            )
        }

        /// Returns whether a client may still encrypt with the key: until ten seconds before it expires, so that it does not
        /// expire on the way.
        ///
        /// - Parameter now: The server's time in milliseconds since 1970.
        package func isUsable(at now: Int64) -> Bool {
            let (deadline, overflow) = self.expiresAt.subtractingReportingOverflow(10_000)
            return !overflow && now < deadline
        }

        /// Returns the signed claims, as the server sends them.
        package func jws(
            signedBy keys: SigningPrivateKeys,
            answering request: TemporaryKeyRequest
        ) throws(CryptoError) -> String {
            let claims = Claims(
                TemporaryKeyResponseClaims(
                    keyID: self.keyID,
                    issuedAt: self.issuedAt,
                    expiresAt: self.expiresAt,
                    answering: request
                ),
                SharedSecretClaim(sharedSecretResponse: self.sharedSecretResponse)
            )
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            // Strings and integers always encode; any receiver would refuse an empty payload.
            let payload = (try? encoder.encode(claims)).map { [UInt8]($0) } ?? []
            return try JSONWebSignature.sign(payload, with: keys)
        }

        private typealias Claims = JoinedClaims<TemporaryKeyResponseClaims, SharedSecretClaim>

        private struct SharedSecretClaim: Codable {
            let sharedSecretResponse: SharedSecretResponse
        }
    }
}
