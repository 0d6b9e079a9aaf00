import PowerAuthCrypto

extension Version4 {
    /// Eight digits that both sides display, for people to compare after the key exchange. SHA3-256 of the suite's name, the
    /// device's keys, the activation identifier and the server's keys; the last four bytes as a big-endian number without its top
    /// bit, modulo 10⁸, zero-padded. Keys are X without leading zero bytes, followed by the ML-DSA key in a hybrid suite.
    package struct ActivationFingerprint: Sendable, Equatable {
        package let data: [UInt8]

        /// Creates the fingerprint. Both sides have keys of the same suite.
        package init(devicePublicKeys: SigningPublicKeys, activationID: String, serverPublicKeys: SigningPublicKeys) {
            precondition(devicePublicKeys.suite == serverPublicKeys.suite)
            let bytes = { (keys: SigningPublicKeys) in
                [UInt8](keys.ecdsa.x.drop { $0 == 0 }) + (keys.mldsa?.publicKeyInfo ?? [])
            }
            self.data =
                Array(devicePublicKeys.suite.rawValue.utf8) + bytes(devicePublicKeys) + Array(activationID.utf8)
                + bytes(serverPublicKeys)
        }

        package var digits: String { DecimalCode.string(of: SHA3.hash(self.data)[...], digits: 8) }
    }
}
