package import Foundation
package import PowerAuthCrypto
package import PowerAuthProtocol

/// The durable state of one activation: everything a process needs to go on signing after a restart.
///
/// Nothing here can unlock the knowledge factor without the password, or the device's private key without the vault.
public struct ActivationRecord: Sendable {
    /// The server's identifier of the activation.
    public let activationID: String
    /// The name the activation was created with.
    public internal(set) var name: String?

    package let applicationKey: String
    package let version: ProtocolVersion
    package let createdAt: Date

    /// Device and server public keys, compressed.
    package let devicePublicKey: [UInt8]
    package let serverPublicKey: [UInt8]

    package let possessionKey: SecretBytes
    package let transportKey: SecretBytes
    /// The knowledge key under PBKDF2(password, salt): 16 bytes without integrity, on purpose.
    package var encryptedKnowledgeKey: SecretBytes
    package var knowledgeSalt: [UInt8]
    /// The biometry key under the key from outside; `nil` while the factor is not set up.
    package var encryptedBiometryKey: SecretBytes?
    /// The device's private key under the vault key.
    package let encryptedDevicePrivateKey: SecretBytes

    /// The next counter value to sign with. Moved, durably, before anything is signed.
    package var counter: HashCounter
    /// Whether a signed request went out whose answer never came: status decides before the next signature.
    package var isUnsettled: Bool

    /// Tokens by name.
    package var tokens: [String: Token]

    /// A token as the server handed it out.
    package struct Token: Sendable, Equatable {
        package let id: String
        package let secret: SecretBytes

        package init(id: String, secret: SecretBytes) {
            self.id = id
            self.secret = secret
        }
    }
}
