package import PowerAuthCrypto

extension Version4 {
    /// The client's request for a temporary key: a token signed with HMAC-SHA-384. Its key is
    /// ``KeyDerivation/temporaryKeyRequestKey(applicationSecret:)``, or in the activation scope
    /// ``ActivationKeys/Utility/temporaryKeyRequest``.
    package struct TemporaryKeyRequest: TemporaryKeyRequestClaims, Equatable {
        /// A request as received by the server.
        package typealias Unverified = UnverifiedTemporaryKeyRequest<Self>

        /// The number of random bytes in a challenge.
        package static let challengeByteCount = 32
        package static let algorithm = JSONWebToken.Algorithm.hs384
        package static let isReadTolerantly = false

        package let applicationKey: String
        package let activationID: String?
        package let challenge: String?
        /// The client's half of the key agreement.
        package let sharedSecretRequest: SharedSecretRequest

        private enum CodingKeys: String, CodingKey {
            case applicationKey
            case activationID = "activationId"
            case challenge, sharedSecretRequest
        }

        /// - Parameters:
        ///   - activationID: `nil` in the application scope.
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
