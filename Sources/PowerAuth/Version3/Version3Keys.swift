package import PowerAuthCrypto
package import PowerAuthProtocol

/// The keys of an activation of version 3.
///
/// Nothing here can unlock the knowledge factor without the password, or the device's private key without the vault.
package struct Version3Keys: Sendable, Equatable {
    package let version: ProtocolVersion
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
    /// Indicates whether the activation is being upgraded to version 4: the server may have been asked for new keys, which are not stored
    /// yet.
    package var isUpgrading = false

    package init(
        version: ProtocolVersion,
        devicePublicKey: [UInt8],
        serverPublicKey: [UInt8],
        possessionKey: SecretBytes,
        transportKey: SecretBytes,
        encryptedKnowledgeKey: SecretBytes,
        knowledgeSalt: [UInt8],
        encryptedBiometryKey: SecretBytes? = nil,
        encryptedDevicePrivateKey: SecretBytes
    ) {
        self.version = version
        self.devicePublicKey = devicePublicKey
        self.serverPublicKey = serverPublicKey
        self.possessionKey = possessionKey
        self.transportKey = transportKey
        self.encryptedKnowledgeKey = encryptedKnowledgeKey
        self.knowledgeSalt = knowledgeSalt
        self.encryptedBiometryKey = encryptedBiometryKey
        self.encryptedDevicePrivateKey = encryptedDevicePrivateKey
    }
}

extension ActivationRecord {
    /// The keys of an activation of version 3; `nil` for others. Setting it to `nil` does nothing.
    package var version3: Version3Keys? {
        get {
            guard case .version3(let keys) = self.keys else { return nil }
            return keys
        }
        set { if let newValue { self.keys = .version3(newValue) } }
    }
}
