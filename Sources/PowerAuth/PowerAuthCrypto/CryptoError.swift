import COpenSSL

/// The reason why a cryptographic operation failed. Contains neither key material nor input.
package struct CryptoError: Error, Equatable, CustomStringConvertible {
    package enum Code: Sendable, Equatable {
        /// libcrypto failed. Names the operation.
        case libcrypto(operation: String)
        /// Not a point of the curve in an accepted encoding, or not a public key of the algorithm.
        case invalidPublicKey
        /// Not a scalar between 1 and the curve's order, exclusive, or not a seed of the algorithm.
        case invalidPrivateKey
        /// Not an ECDSA signature in the expected encoding.
        case invalidSignatureEncoding
        /// The decrypted padding is not PKCS#7: wrong key or changed data.
        case invalidPadding
        /// The algorithm does not accept the length of a key, nonce or message.
        case invalidLength
        /// Not a host name or IP address for a certificate.
        case invalidHost
        case invalidName
        /// The process's libcrypto lacks an algorithm. Names it.
        case algorithmUnavailable(String)
        /// The authentication tag does not match data, key and nonce.
        case authenticationFailed
    }

    package let code: Code

    package init(_ code: Code) { self.code = code }

    package var description: String { "\(self.code)" }

    /// Returns the error of a failed call, and clears libcrypto's error queue for later calls.
    static func last(_ code: Code) -> Self {
        ERR_clear_error()
        return Self(code)
    }
}
