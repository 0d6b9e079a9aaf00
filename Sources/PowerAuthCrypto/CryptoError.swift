import COpenSSL

/// The reason why a cryptographic operation failed. Holds no key material and no input.
package struct CryptoError: Error, Equatable, CustomStringConvertible {
    /// A kind of failure.
    package enum Code: Sendable, Equatable {
        /// libcrypto itself failed; names the operation.
        case libcrypto(operation: String)
        /// Not a point of the curve in an accepted form, or not a public key of the algorithm.
        case invalidPublicKey
        /// Not a scalar between 1 and the order of the curve, exclusive, or not a seed of the algorithm.
        case invalidPrivateKey
        /// Not an ECDSA signature in the expected encoding.
        case invalidSignatureEncoding
        /// The padding after decryption is not PKCS#7: wrong key, or changed data.
        case invalidPadding
        /// A key, nonce or message of a length that the algorithm does not take.
        case invalidLength
        /// Not a host name or an IP address that a certificate can be for.
        case invalidHost
        /// Not a name that a certificate can have.
        case invalidName
        /// The libcrypto that was loaded does not have an algorithm. Names the algorithm.
        case algorithmUnavailable(String)
        /// The authentication tag does not belong to this data, key and nonce.
        case authenticationFailed
    }

    /// The kind of failure.
    package let code: Code

    package init(_ code: Code) { self.code = code }

    package var description: String { "\(self.code)" }

    /// Returns an error for a call that failed on this thread. Drains libcrypto's queue, which later calls would read.
    static func last(_ code: Code) -> Self {
        ERR_clear_error()
        return Self(code)
    }
}
