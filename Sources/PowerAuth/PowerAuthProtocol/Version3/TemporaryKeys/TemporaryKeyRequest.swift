package import PowerAuthCrypto

/// The client's request for a temporary key in version 3.3. A token signed with HMAC-SHA-256 and the claims `applicationKey`,
/// `activationId` (in the activation scope) and `challenge`. Its key is the decoded `APP_SECRET`, or `KDF_INTERNAL(KEY_TRANSPORT,
/// decoded APP_SECRET)` in the activation scope.
package struct TemporaryKeyRequest: TemporaryKeyRequestClaims, Equatable {
    package typealias Unverified = UnverifiedTemporaryKeyRequest<Self>

    /// The number of random bytes in a challenge.
    package static let challengeByteCount = 18
    package static let algorithm = JSONWebToken.Algorithm.hs256
    package static let isReadTolerantly = true

    package let applicationKey: String
    package let activationID: String?
    package let challenge: String?

    private enum CodingKeys: String, CodingKey {
        case applicationKey
        case activationID = "activationId"
        case challenge
    }

    /// - Parameters:
    ///   - activationID: `nil` in the application scope.
    ///   - challenge: 18 random bytes.
    package init(applicationKey: String, activationID: String?, challenge: [UInt8]) {
        self.applicationKey = applicationKey
        self.activationID = activationID
        self.challenge = Base64.encode(challenge)
    }

    package static func tag(of signingInput: [UInt8], key: SecretBytes) -> [UInt8] {
        HMACSHA256.authenticate(signingInput, key: key)
    }

    /// Returns the key that signs the request.
    ///
    /// - Parameter transportKey: `KEY_TRANSPORT` in the activation scope; `nil` in the application scope.
    package static func signingKey(applicationSecret: ApplicationSecret, transportKey: SecretBytes?) -> SecretBytes {
        guard let transportKey else { return applicationSecret.bytes }
        return KeyDerivation.deriveInternal(transportKey, index: applicationSecret.bytes.disclosed)
    }

    /// Returns the signed token.
    package func jwt(applicationSecret: ApplicationSecret, transportKey: SecretBytes?) -> String {
        self.jwt(key: Self.signingKey(applicationSecret: applicationSecret, transportKey: transportKey))
    }
}

extension UnverifiedTemporaryKeyRequest<TemporaryKeyRequest> {
    /// Verifies algorithm and signature, and returns the request.
    package func verified(
        applicationSecret: ApplicationSecret,
        transportKey: SecretBytes?
    ) throws(TemporaryKeyError) -> TemporaryKeyRequest {
        try self.verified(
            key: TemporaryKeyRequest.signingKey(applicationSecret: applicationSecret, transportKey: transportKey)
        )
    }
}
