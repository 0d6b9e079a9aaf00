package import PowerAuthCrypto

/// Why a request for a temporary key, or the answer to one, was refused.
package enum TemporaryKeyError: Error, Equatable, Sendable {
    /// Not a token, or a claim is missing.
    case malformed
    /// Signed with another algorithm than the one that belongs here.
    case wrongAlgorithm
    /// The signature is not the expected signer's.
    case invalidSignature
    /// Made for another application.
    case wrongApplicationKey
    /// Made for another activation, or for one where there is none.
    case wrongActivationID
    /// Answers another request.
    case wrongChallenge
    /// Its time is over.
    case expired
    /// The key inside is not a point of the curve.
    case invalidPublicKey
    /// The cryptographic library refused.
    case crypto(CryptoError)
}
