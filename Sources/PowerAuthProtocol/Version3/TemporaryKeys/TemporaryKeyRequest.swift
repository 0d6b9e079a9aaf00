package import PowerAuthCrypto

/// The client's request for a temporary key, which requests of version 3.3 are encrypted for.
///
/// A token signed with HMAC-SHA-256, with the claims `applicationKey`, `activationId` (in the scope of an activation) and
/// `challenge`. Its key is the decoded `APP_SECRET`, or `KDF_INTERNAL(KEY_TRANSPORT, decoded APP_SECRET)` in the scope of an
/// activation.
package struct TemporaryKeyRequest: TemporaryKeyRequestClaims, Equatable {
    /// A request as the server receives it.
    package typealias Unverified = UnverifiedTemporaryKeyRequest<Self>

    /// The number of random bytes in a client's challenge.
    package static let challengeByteCount = 18
    package static let algorithm = JSONWebToken.Algorithm.hs256

    package let applicationKey: String
    package let activationID: String?
    package let challenge: String

    private enum CodingKeys: String, CodingKey {
        case applicationKey
        case activationID = "activationId"
        case challenge
    }

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - activationID: `nil` in the scope of the application.
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
    /// - Parameter transportKey: `KEY_TRANSPORT` in the scope of an activation, `nil` in that of the application.
    package static func signingKey(applicationSecret: ApplicationSecret, transportKey: SecretBytes?) -> SecretBytes {
        guard let transportKey else { return applicationSecret.bytes }
        return KeyDerivation.deriveInternal(transportKey, index: applicationSecret.bytes.disclosed)
    }

    /// Returns the signed token, as the client sends it.
    package func jwt(applicationSecret: ApplicationSecret, transportKey: SecretBytes?) -> String {
        self.jwt(key: Self.signingKey(applicationSecret: applicationSecret, transportKey: transportKey))
    }
}

extension UnverifiedTemporaryKeyRequest<TemporaryKeyRequest> {
    /// Returns the request if its algorithm and signature are right.
    package func verified(
        applicationSecret: ApplicationSecret,
        transportKey: SecretBytes?
    ) throws(TemporaryKeyError) -> TemporaryKeyRequest {
        try self.verified(
            key: TemporaryKeyRequest.signingKey(applicationSecret: applicationSecret, transportKey: transportKey)
        )
    }
}
