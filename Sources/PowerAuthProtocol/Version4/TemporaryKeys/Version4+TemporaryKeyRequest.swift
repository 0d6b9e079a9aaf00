package import PowerAuthCrypto

extension Version4 {
    /// The client's request for a temporary key, with which requests are encrypted: a token signed with HMAC-SHA-384.
    ///
    /// Its key is ``KeyDerivation/temporaryKeyRequestKey(applicationSecret:)``, or in the scope of an activation
    /// ``ActivationKeys/Utility/temporaryKeyRequest``.
    package struct TemporaryKeyRequest: TemporaryKeyRequestClaims, Equatable {
        /// A request as the server receives it.
        package typealias Unverified = UnverifiedTemporaryKeyRequest<Self>

        /// The number of random bytes in a client's challenge.
        package static let challengeByteCount = 32
        package static let algorithm = JSONWebToken.Algorithm.hs384

        package let applicationKey: String
        package let activationID: String?
        package let challenge: String
        /// The client's half of the agreement on the key.
        package let sharedSecretRequest: SharedSecretRequest

        private enum CodingKeys: String, CodingKey {
            case applicationKey
            case activationID = "activationId"
            case challenge, sharedSecretRequest
        }

        /// Creates a request.
        ///
        /// - Parameters:
        ///   - activationID: `nil` in the scope of the application.
        ///   - challenge: 32 random bytes.
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

        package static func tag(of signingInput: [UInt8], key: SecretBytes) -> [UInt8] {
            HMACSHA384.authenticate(signingInput, key: key)
        }
    }
}
