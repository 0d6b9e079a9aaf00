import PowerAuthCrypto

/// The rule for the key from outside that unlocks the biometry factor: a file, a KMS, an HSM.
enum BiometryUnlockKey {
    /// Its length.
    static let byteCount = 16

    /// - Throws: ``MobileTokenError/Code/invalidAuthentication``.
    static func validate(_ unlockKey: SecretBytes) throws(MobileTokenError) {
        guard unlockKey.count == Self.byteCount else {
            throw MobileTokenError(.invalidAuthentication, "The biometry key must have \(Self.byteCount) bytes")
        }
    }
}
