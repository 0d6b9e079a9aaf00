import PowerAuthCrypto

/// The rule for the external key of the biometry factor, from a file, KMS or HSM.
enum BiometryUnlockKey {
    static let byteCount = 16

    /// - Throws: ``MobileTokenError/Code/invalidAuthentication``.
    static func validate(_ unlockKey: SecretBytes) throws(MobileTokenError) {
        guard unlockKey.count == Self.byteCount else {
            throw MobileTokenError(.invalidAuthentication, "The biometry key must have \(Self.byteCount) bytes")
        }
    }
}
