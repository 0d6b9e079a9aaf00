package import PowerAuthCrypto

/// The reason why an encrypted request or response is refused. Nothing of it was used.
package enum EncryptionError: Error, Equatable, CustomStringConvertible {
    /// A member is missing, is there although this version has none, or has an impossible length or value. Names it.
    case malformed(member: String)
    /// The request was encrypted for another temporary key.
    case wrongTemporaryKey
    /// The purpose does not belong to the scope, application or activation.
    case wrongScope
    /// The ephemeral key is not a point of the curve.
    case invalidEphemeralKey
    /// The code that protects the envelope is wrong: other keys, another purpose, or something was changed.
    case authenticationFailed
    /// The ciphertext does not decrypt. Only in version 3.1, where the nonce is not authenticated.
    case decryptionFailed
    /// An exchange takes one request and its response, in this order, and no more.
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
