package import PowerAuthCrypto

/// The reason why the status of an activation is refused.
package enum ActivationStatusError: Error, Equatable, Sendable {
    /// The status, the challenge or the nonce has another length than it must have.
    case invalidLength
    /// It does not begin as a status does. In version 3, that is what another key, challenge or nonce leads to, and random
    /// bytes, which servers send for activations that they do not know.
    case notABlob
    /// The tag is wrong: another activation, or something was changed.
    case authenticationFailed
    /// A field has a value that cannot be. Names it.
    case invalid(field: String)
    /// The activation is of a version of the protocol that this kind of status is not for. Names the version.
    case unsupportedVersion(UInt8)
    /// The cryptographic library failed.
    case crypto(CryptoError)
}
