import PowerAuthCrypto

/// The rule for passwords; what a good one is beyond that is the application's affair.
enum Password {
    /// UTF-8 bytes as given, at least this many.
    static let minimumByteCount = 4

    /// - Throws: ``MobileTokenError/Code/invalidAuthentication``.
    static func validate(_ password: SecretBytes) throws(MobileTokenError) {
        guard password.count >= Self.minimumByteCount else {
            throw MobileTokenError(
                .invalidAuthentication,
                "A password needs at least \(Self.minimumByteCount) bytes"
            )
        }
    }
}
