package import PowerAuthCrypto

extension Version4 {
    package enum SharedSecretError: Error, Equatable, Sendable {
        /// The number or length of a member's parts does not match the suite. Names it.
        case malformed(member: String)
        /// A key or an encapsulated key is invalid, such as a point off the curve.
        case invalidKey
        /// The process's libcrypto lacks an algorithm.
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
