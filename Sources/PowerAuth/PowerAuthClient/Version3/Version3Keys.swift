package import PowerAuthCrypto
package import PowerAuthProtocol

/// The keys of a version 3 activation. They cannot unlock the knowledge factor without the password, or the device's private key
/// without the vault.
package struct Version3Keys: Sendable, Equatable {
    package let version: ProtocolVersion
    /// The device's and the server's public keys, compressed.
    package let devicePublicKey: [UInt8]
    package let serverPublicKey: [UInt8]

    package let possessionKey: SecretBytes
    package let transportKey: SecretBytes
    /// The knowledge key, encrypted with PBKDF2(password, salt): 16 bytes, deliberately without integrity protection.
    package var encryptedKnowledgeKey: SecretBytes
    package var knowledgeSalt: [UInt8]
    /// The biometry key, encrypted with the external key; `nil` if the factor is not set up.
    package var encryptedBiometryKey: SecretBytes?
    /// The device's private key, encrypted with the vault key.
    package let encryptedDevicePrivateKey: SecretBytes
    /// Indicates an upgrade in progress: the server may have been asked for new keys that are not stored yet.
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
    /// The version 3 keys; `nil` for another version. Setting `nil` does nothing.
    package var version3: Version3Keys? {
        get {
            guard case .version3(let keys) = self.keys else { return nil }
            return keys
        }
        set { if let newValue { self.keys = .version3(newValue) } }
    }
}
