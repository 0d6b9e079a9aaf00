package import PowerAuthCrypto

/// The minimum rule for passwords; applications may demand more.
package enum Password {
    /// The minimum number of UTF-8 bytes.
    static let minimumByteCount = 4

    /// - Throws: ``MobileTokenError/Code/invalidAuthentication``.
    package static func validate(_ password: SecretBytes) throws(MobileTokenError) {
        guard password.count >= Self.minimumByteCount else {
            throw MobileTokenError(
                .invalidAuthentication,
                "A password needs at least \(Self.minimumByteCount) bytes"
            )
        }
    }
}
