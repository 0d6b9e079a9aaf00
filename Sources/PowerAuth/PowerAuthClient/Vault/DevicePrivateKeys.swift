package import PowerAuthCrypto
package import PowerAuthProtocol

/// A device's private keys, while the vault is unlocked.
package enum DevicePrivateKeys: Sendable {
    case version3(P256PrivateKey)
    case version4(Version4.SigningPrivateKeys)
}
