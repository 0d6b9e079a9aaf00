package import PowerAuthCrypto

extension Version4 {
    /// Why an encrypted request or response was refused. Nothing of it was used.
    package enum EncryptionError: Error, Equatable, CustomStringConvertible {
        /// A member has an impossible length or value. Names it.
        case malformed(member: String)
        /// The request was encrypted for another temporary key.
        case wrongTemporaryKey
        /// The purpose belongs to the other scope.
        case wrongScope
        /// The tag that protects the envelope is wrong: other keys, another purpose, or something was changed.
        case authenticationFailed
        /// An encryptor serves one request and its response, in this order, and no more.
        case outOfOrder
        /// The cryptographic library refused.
        case crypto(CryptoError)

        package var description: String {
            switch self {
            case .malformed(let member): "encrypted message: bad \(member)"
            case .wrongTemporaryKey: "encrypted message: made for another temporary key"
            case .wrongScope: "encrypted message: purpose and scope do not belong together"
            case .authenticationFailed: "encrypted message: authentication failed"
            case .outOfOrder: "encryptor used out of order"
            case .crypto(let error): "encrypted message: \(error)"
            }
        }
    }
}
