import PowerAuthCrypto

/// The end of the bytes that a signature or an authentication code covers.
package struct SigningSecret: Sendable {
    /// The ASCII bytes that are appended after `&`.
    let bytes: SecretBytes

    /// Returns the end of requests that are sent to the server: `APP_SECRET` in Base64.
    package static func online(_ secret: ApplicationSecret) -> Self { Self(bytes: secret.base64Bytes) }

    /// The end of what a person types: the word `offline`.
    package static let offline = Self(bytes: SecretBytes(utf8: "offline"))
}
