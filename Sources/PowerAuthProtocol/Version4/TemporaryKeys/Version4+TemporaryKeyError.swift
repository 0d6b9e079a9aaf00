package import PowerAuthCrypto

extension Version4 {
    /// Why a request for a temporary key, or the response to one, was refused.
    package enum TemporaryKeyError: Error, Equatable, Sendable {
        /// Not a token, or a claim is missing.
        case malformed
        /// Signed with other algorithms than those that belong here, or not with all of them.
        case wrongAlgorithm
        /// A signature is not the expected signer's.
        case invalidSignature
        /// Made for another application.
        case wrongApplicationKey
        /// Made for another activation, or for one where there is none.
        case wrongActivationID
        /// The response to another request.
        case wrongChallenge
        /// Its time is over.
        case expired
        /// The cryptographic library refused.
        case crypto(CryptoError)
    }
}
