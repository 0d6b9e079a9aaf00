package import PowerAuthCrypto

/// Why an encrypted request or answer was refused. Nothing of it was used.
package enum ECIESError: Error, Equatable, CustomStringConvertible {
    /// A member is missing, is there although this version has none, or has an impossible length. Names it.
    case malformed(member: String)
    /// The ephemeral key is not a point of the curve.
    case invalidEphemeralKey
    /// The code that protects the envelope is wrong: other keys, another purpose, or something was changed.
    case authenticationFailed
    /// The text does not decrypt. Only in version 3.1, whose nonce nothing protects.
    case decryptionFailed
    /// An encryptor serves one request and its answer, in this order, and no more.
    case outOfOrder
    /// The cryptographic library refused.
    case crypto(CryptoError)

    package var description: String {
        switch self {
        case .malformed(let member): "encrypted message: bad \(member)"
        case .invalidEphemeralKey: "encrypted message: bad ephemeral key"
        case .authenticationFailed: "encrypted message: authentication failed"
        case .decryptionFailed: "encrypted message: decryption failed"
        case .outOfOrder: "encryptor used out of order"
        case .crypto(let error): "encrypted message: \(error)"
        }
    }
}
