package import APIDescriptions

extension CloudClient {
    /// The QR code for approving an operation on a device without a network.
    public struct OfflineCode: Sendable, CustomStringConvertible {
        /// The content of the QR code, as lines. The fourth line is the signed data. Personal.
        public let content: String
        /// The value for verifying the user's code.
        public let nonce: String

        package init(content: String, nonce: String) { (self.content, self.nonce) = (content, nonce) }

        /// The name of the type only.
        public var description: String { "OfflineCode" }
    }
}

extension CloudClient.OfflineCode: Described {
    package static let fields = FieldTable(
        "OfflineQrCode",
        Self.init(content:nonce:),
        .required("operationQrCodeData", \.content, .string),
        .required("nonce", \.nonce, .base64, "The nonce to verify the code with.")
    )
}
