package import PowerAuthCrypto

package enum ActivationStatusError: Error, Equatable, Sendable {
    /// The status, challenge or nonce has an invalid length.
    case invalidLength
    /// The start is not that of a status. In version 3 this means another key, challenge or nonce, or random bytes, which servers
    /// send for unknown activations.
    case notABlob
    /// The tag is wrong: another activation, or changed data.
    case authenticationFailed
    /// A field has an impossible value. Names it.
    case invalid(field: String)
    /// The activation has another protocol version. Names the version.
    case unsupportedVersion(UInt8)
    /// The cryptographic library failed.
    case crypto(CryptoError)
}
