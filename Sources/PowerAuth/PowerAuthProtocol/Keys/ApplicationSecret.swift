package import PowerAuthCrypto

/// `APP_SECRET`, shared by all installations of an application, in the two forms that the protocol uses.
package struct ApplicationSecret: Sendable, Equatable {
    /// The ASCII bytes of the Base64 form: end the signed bytes of requests, and are used in version 3 encryption.
    package let base64Bytes: SecretBytes
    /// The 16 raw bytes: the key for requesting temporary keys.
    package let bytes: SecretBytes

    /// Creates a secret from the server's Base64 string; `nil` unless it is 16 bytes.
    package init?(base64: String) {
        guard let bytes = Base64.decodeSecret(base64), bytes.count == 16 else { return nil }
        self.base64Bytes = SecretBytes(utf8: base64)
        self.bytes = bytes
    }

    /// Creates a secret from its bytes; `nil` unless it is 16 bytes.
    package init?(bytes: SecretBytes) {
        guard bytes.count == 16 else { return nil }
        self.base64Bytes = SecretBytes(utf8: Base64.encode(bytes))
        self.bytes = bytes
    }

    /// The secret in Base64, for writing or displaying configurations.
    package var base64: String { Base64.encode(self.bytes) }
}
