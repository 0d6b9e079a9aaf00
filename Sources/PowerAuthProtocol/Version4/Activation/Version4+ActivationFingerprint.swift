import PowerAuthCrypto

extension Version4 {
    /// Eight digits that both sides show, so that people can compare them and rule out an attacker during the key exchange.
    ///
    /// SHA3-256 of the suite's name, the device's keys, the activation identifier and the server's keys; the last four bytes as
    /// a big-endian number without its top bit, modulo 10⁸, with leading zeros. Keys are the X coordinate without leading zero
    /// bytes, followed by the key of ML-DSA in a hybrid suite.
    package struct ActivationFingerprint: Sendable, Equatable {
        /// The bytes that are hashed.
        package let data: [UInt8]

        /// Creates the fingerprint of an activation. Both sides have keys of the same suite.
        package init(devicePublicKeys: SigningPublicKeys, activationID: String, serverPublicKeys: SigningPublicKeys) {
            precondition(devicePublicKeys.suite == serverPublicKeys.suite)
            let bytes = { (keys: SigningPublicKeys) in
                [UInt8](keys.ecdsa.x.drop { $0 == 0 }) + (keys.mldsa?.publicKeyInfo ?? [])
            }
            self.data =
                Array(devicePublicKeys.suite.rawValue.utf8) + bytes(devicePublicKeys) + Array(activationID.utf8)
                + bytes(serverPublicKeys)
        }

        /// The eight digits.
        package var digits: String { DecimalCode.string(of: SHA3.hash(self.data)[...], digits: 8) }
    }
}
