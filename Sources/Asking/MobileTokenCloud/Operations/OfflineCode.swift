package import CloudCalls

extension CloudClient {
    /// The QR code for approving an operation on a device without a network.
    public struct OfflineCode: Sendable, CustomStringConvertible {
        /// The content of the QR code, as lines. The fourth line is the signed data. Personal.
        public let content: String
        /// The value for verifying the user's code.
        public let nonce: String

        package init(_ wire: CloudAPI.OfflineQRCode) { (self.content, self.nonce) = (wire.content, wire.nonce) }

        /// The name of the type only.
        public var description: String { "OfflineCode" }
    }
}
