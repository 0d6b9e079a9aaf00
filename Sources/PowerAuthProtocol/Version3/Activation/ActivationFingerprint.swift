package import PowerAuthCrypto

/// Eight digits that both sides show, so that people can compare them and rule out an attacker during the key exchange.
///
/// SHA-256 of the device key's X, the activation identifier and the server key's X; the last four bytes as a big-endian
/// number without its top bit, modulo 10⁸, with leading zeros. An X is written without leading zero bytes.
package struct ActivationFingerprint: Sendable, Equatable {
    /// The bytes that are hashed.
    package let data: [UInt8]

    /// Creates the fingerprint of an activation.
    package init(devicePublicKey: P256PublicKey, activationID: String, serverPublicKey: P256PublicKey) {
        let minimal = { (key: P256PublicKey) in key.x.drop { $0 == 0 } }
        self.data = minimal(devicePublicKey) + Array(activationID.utf8) + minimal(serverPublicKey)
    }

    /// The eight digits.
    package var digits: String { DecimalCode.string(of: SHA256.hash(self.data)[...], digits: 8) }
}
