package import PowerAuthCrypto

/// The reason why a temporary key's request or response is refused.
package enum TemporaryKeyError: Error, Equatable, Sendable {
    /// A malformed token or a missing claim.
    case malformed
    /// The algorithms are not exactly the expected ones.
    case wrongAlgorithm
    /// The signature is not by the expected signer.
    case invalidSignature
    /// Another application.
    case wrongApplicationKey
    /// Another activation, or an unexpected one.
    case wrongActivationID
    /// The response to another request.
    case wrongChallenge
    case expired
    /// The key is not a point of the curve.
    case invalidPublicKey
    /// The cryptographic library failed.
    case crypto(CryptoError)
}
