package import PowerAuthCrypto

/// `APP_SECRET`, which every installation of an application has. The protocol uses it in two forms.
package struct ApplicationSecret: Sendable, Equatable {
    /// The secret in Base64, as ASCII: ends the signed bytes of a request, and goes into encrypted requests of version 3.
    package let base64Bytes: SecretBytes
    /// The secret itself, 16 bytes: key of the tokens that request temporary keys.
    package let bytes: SecretBytes

    /// Creates a secret from its Base64 string, as servers hand it out; `nil` unless it is of 16 bytes.
    package init?(base64: String) {
        guard let bytes = Base64.decodeSecret(base64), bytes.count == 16 else { return nil }
        self.base64Bytes = SecretBytes(utf8: base64)
        self.bytes = bytes
    }

    /// Creates a secret from its bytes; `nil` unless there are 16.
    package init?(bytes: SecretBytes) {
        guard bytes.count == 16 else { return nil }
        self.base64Bytes = SecretBytes(utf8: Base64.encode(bytes))
        self.bytes = bytes
    }

    /// The secret in Base64, for configurations that are written or shown on purpose.
    package var base64: String { Base64.encode(self.bytes) }
}
