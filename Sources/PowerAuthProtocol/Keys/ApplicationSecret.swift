package import PowerAuthCrypto

/// `APP_SECRET`, which every copy of an application carries. The protocol uses it in two forms.
package struct ApplicationSecret: Sendable, Equatable {
    /// The Base64 text as ASCII bytes: ends the signed bytes of a request, and goes into encrypted requests.
    package let text: SecretBytes
    /// The 16 bytes that the text stands for: key of the tokens that ask for temporary keys.
    package let bytes: SecretBytes

    /// Takes the Base64 text of 16 bytes, as servers hand it out; `nil` when it is anything else.
    package init?(base64 text: String) {
        guard let bytes = Base64.decodeSecret(text), bytes.count == 16 else { return nil }
        self.text = SecretBytes(utf8: text)
        self.bytes = bytes
    }

    /// Takes the 16 bytes; `nil` when there are not as many.
    package init?(bytes: SecretBytes) {
        guard bytes.count == 16 else { return nil }
        self.text = SecretBytes(utf8: Base64.encode(bytes))
        self.bytes = bytes
    }

    /// The Base64 text, for configurations that are written or shown on purpose.
    package var base64: String { Base64.encode(self.bytes) }
}
