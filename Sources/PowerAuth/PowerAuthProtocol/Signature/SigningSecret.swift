import PowerAuthCrypto

/// The end of the bytes that a signature or authentication code covers.
package struct SigningSecret: Sendable {
    /// The ASCII bytes appended after `&`.
    let bytes: SecretBytes

    /// Returns the end for requests: `APP_SECRET` in Base64.
    package static func online(_ secret: ApplicationSecret) -> Self { Self(bytes: secret.base64Bytes) }

    /// The end for typed codes: `offline`.
    package static let offline = Self(bytes: SecretBytes(utf8: "offline"))
}
