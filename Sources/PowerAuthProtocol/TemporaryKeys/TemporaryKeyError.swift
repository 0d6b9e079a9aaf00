package import PowerAuthCrypto

/// The reason why a request for a temporary key, or the response to one, is refused.
package enum TemporaryKeyError: Error, Equatable, Sendable {
    /// It is not a token, or a claim is missing.
    case malformed
    /// It is not signed with exactly the algorithms that belong here.
    case wrongAlgorithm
    /// The signature is not the expected signer's.
    case invalidSignature
    /// It belongs to another application.
    case wrongApplicationKey
    /// It belongs to another activation, or to one where there should be none.
    case wrongActivationID
    /// It is the response to another request.
    case wrongChallenge
    /// The key has expired.
    case expired
    /// The key is not a point of the curve.
    case invalidPublicKey
    /// The cryptographic library failed.
    case crypto(CryptoError)
}
