package import PowerAuthCrypto

extension Version4 {
    /// The client's request for a temporary key, with which requests are encrypted: a token signed with HMAC-SHA-384.
    ///
    /// Its key is ``KeyDerivation/temporaryKeyRequestKey(applicationSecret:)``, or in the scope of an activation
    /// ``ActivationKeys/Utility/temporaryKeyRequest``.
    package struct TemporaryKeyRequest: Sendable, Equatable {
        /// How many random bytes a client's challenge has.
        package static let challengeByteCount = 32

        package let applicationKey: String
        /// The scope: `nil` in that of the application.
        package let activationID: String?
        /// What the response must repeat: Base64 of random bytes.
        package let challenge: String
        /// The client's half of the agreement on the key.
        package let sharedSecretRequest: SharedSecretRequest

        /// Makes a request.
        ///
        /// - Parameter challenge: 32 random bytes.
        package init(
            applicationKey: String,
            activationID: String?,
            challenge: [UInt8],
            sharedSecretRequest: SharedSecretRequest
        ) {
            self.applicationKey = applicationKey
            self.activationID = activationID
            self.challenge = Base64.encode(challenge)
            self.sharedSecretRequest = sharedSecretRequest
        }

        /// Returns the signed token, as the client sends it.
        package func jwt(key: SecretBytes) -> String {
            let claims = Claims(
                applicationKey: self.applicationKey,
                activationId: self.activationID,
                challenge: self.challenge,
                sharedSecretRequest: self.sharedSecretRequest
            )
            return JSONWebToken.encode(claims: claims, algorithm: .hs384) { HMACSHA384.authenticate($0, key: key) }
        }

        private struct Claims: Codable {
            let applicationKey: String
            let activationId: String?
            let challenge: String
            let sharedSecretRequest: SharedSecretRequest
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
                else { throw .malformed }
                self.token = token
                self.request = TemporaryKeyRequest(claims: claims)
            }

            /// Checks algorithm and signature.
            package func verified(key: SecretBytes) throws(TemporaryKeyError) -> TemporaryKeyRequest {
                guard self.token.algorithm == .hs384 else { throw .wrongAlgorithm }
                guard HMACSHA384.isValid(self.token.signature, for: self.token.signingInput, key: key) else {
                    throw .invalidSignature
                }
                return self.request
            }
        }

        private init(claims: Claims) {
            self.applicationKey = claims.applicationKey
            self.activationID = claims.activationId
            self.challenge = claims.challenge
            self.sharedSecretRequest = claims.sharedSecretRequest
        }
    }
}
