package import PowerAuthCrypto

/// Eight digits that both sides display, for people to compare after the key exchange. SHA-256 of the device key's X, the
/// activation identifier and the server key's X; the last four bytes as a big-endian number without its top bit, modulo 10⁸,
/// zero-padded. X has no leading zero bytes.
package struct ActivationFingerprint: Sendable, Equatable {
    package let data: [UInt8]

    package init(devicePublicKey: P256PublicKey, activationID: String, serverPublicKey: P256PublicKey) {
        let minimal = { (key: P256PublicKey) in key.x.drop { $0 == 0 } }
        self.data = minimal(devicePublicKey) + Array(activationID.utf8) + minimal(serverPublicKey)
    }

    package var digits: String { DecimalCode.string(of: SHA256.hash(self.data)[...], digits: 8) }
}
