import Foundation
package import PowerAuthCrypto

extension Version4 {
    /// The server's response to a request for a temporary key.
    ///
    /// Claims signed with every algorithm of the suite, by the master keys of the application, or in the scope of an activation
    /// by the server's keys of that activation.
    package struct TemporaryKeyResponse: Sendable, Equatable {
        package let keyID: String
        /// What leads the client to the shared secret.
        package let sharedSecretResponse: SharedSecretResponse
        /// The server's time when it responded, in milliseconds since 1970.
        package let issuedAt: Int64
        /// When the key ends, in milliseconds since 1970.
        package let expiresAt: Int64

        /// Describes a key that the server has made.
        package init(keyID: String, sharedSecretResponse: SharedSecretResponse, issuedAt: Int64, expiresAt: Int64) {
            self.keyID = keyID
            self.sharedSecretResponse = sharedSecretResponse
            self.issuedAt = issuedAt
            self.expiresAt = expiresAt
        }

        /// Reads and checks a response. Nothing of it counts unless all of it is right.
        ///
        /// - Parameters:
        ///   - keys: The master keys of the application, or the server's keys of the activation.
        ///   - request: What was asked.
        ///   - now: The time in milliseconds since 1970; a key that ends at this instant is over.
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
            guard let claims = try? JSONDecoder().decode(Claims.self, from: Data(signed.payload)), !claims.sub.isEmpty
            else { throw .malformed }
            guard claims.applicationKey == request.applicationKey else { throw .wrongApplicationKey }
            guard claims.activationId == request.activationID else { throw .wrongActivationID }
            guard claims.challenge == request.challenge else { throw .wrongChallenge }
            guard claims.exp_ms > now else { throw .expired }
            self.init(
                keyID: claims.sub,
                sharedSecretResponse: claims.sharedSecretResponse,
                issuedAt: claims.iat_ms,
                expiresAt: claims.exp_ms
            )
        }

        /// Returns whether a client may still encrypt with the key: until ten seconds before it ends, so that it does not end
        /// on the way.
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
                sub: self.keyID,
                applicationKey: request.applicationKey,
                activationId: request.activationID,
                challenge: request.challenge,
                sharedSecretResponse: self.sharedSecretResponse,
                iat: self.issuedAt / 1000,
                exp: self.expiresAt / 1000,
                iat_ms: self.issuedAt,
                exp_ms: self.expiresAt
            )
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            // Texts and whole numbers always encode; an empty payload would be refused by any receiver.
            let payload = (try? encoder.encode(claims)).map { [UInt8]($0) } ?? []
            return try JSONWebSignature.sign(payload, with: keys)
        }

        // Named as they are spelled in the token.
        private struct Claims: Codable {
            let sub: String
            let applicationKey: String
            let activationId: String?
            let challenge: String
            let sharedSecretResponse: SharedSecretResponse
            let iat: Int64
            let exp: Int64
            let iat_ms: Int64
            let exp_ms: Int64
        }
    }
}
