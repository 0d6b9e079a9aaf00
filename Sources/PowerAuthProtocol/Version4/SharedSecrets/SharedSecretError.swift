package import PowerAuthCrypto

extension Version4 {
    /// The reason why two sides did not agree on a secret.
    package enum SharedSecretError: Error, Equatable, Sendable {
        /// A member does not have the number or length of parts that the suite fixes. Names it.
        case malformed(member: String)
        /// The suite is not the activation's, or the server does not allow it.
        case wrongSuite
        /// A key or an encapsulated key is not one of its algorithm, such as a point off the curve.
        case invalidKey
        /// The libcrypto of this process lacks an algorithm.
        case unavailable(SuiteUnavailableError)
        /// The cryptographic library failed.
        case crypto(CryptoError)

        init(_ error: CryptoError, suite: AlgorithmSuite) {
            switch error.code {
            case .invalidPublicKey: self = .invalidKey
            case .algorithmUnavailable: self = .unavailable(SuiteUnavailableError(suite: suite))
            default: self = .crypto(error)
            }
        }
    }
}
