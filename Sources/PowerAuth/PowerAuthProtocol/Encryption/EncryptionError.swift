package import PowerAuthCrypto

/// The reason why an encrypted message is refused. None of it was used.
package enum EncryptionError: Error, Equatable, CustomStringConvertible {
    /// A member is missing, unexpected in this version, or has an impossible length or value. Names it.
    case malformed(member: String)
    /// The request was encrypted with another temporary key.
    case wrongTemporaryKey
    /// The purpose does not belong to the scope.
    case wrongScope
    /// The ephemeral key is not a point of the curve.
    case invalidEphemeralKey
    /// The authentication tag is wrong: other keys, another purpose, or changed data.
    case authenticationFailed
    /// Decryption failed. Only in version 3.1, which does not authenticate the nonce.
    case decryptionFailed
    /// An exchange allows one request, then one response.
    case outOfOrder
    /// The cryptographic library failed.
    case crypto(CryptoError)

    package var description: String {
        switch self {
        case .malformed(let member): "encrypted message: '\(member)' is missing or invalid"
        case .wrongTemporaryKey: "encrypted message: made for another temporary key"
        case .wrongScope: "encrypted message: purpose and scope do not belong together"
        case .invalidEphemeralKey: "encrypted message: the ephemeral key is not a point of the curve"
        case .authenticationFailed: "encrypted message: authentication failed"
        case .decryptionFailed: "encrypted message: decryption failed"
        case .outOfOrder: "encrypted message: the exchange is over, or has not begun"
        case .crypto(let error): "encrypted message: \(error)"
        }
    }
}
