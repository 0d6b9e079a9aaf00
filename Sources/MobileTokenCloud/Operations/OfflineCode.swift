package import CloudCalls

extension CloudClient {
    /// The QR code with which a device without a network approves an operation.
    public struct OfflineCode: Sendable, CustomStringConvertible, CustomReflectable {
        /// The content of the QR code: lines, of which the fourth is the data that the user signs. Personal.
        public let content: String
        /// The value to verify the user's code with.
        public let nonce: String

        package init(_ wire: CloudAPI.OfflineQRCode) { (self.content, self.nonce) = (wire.content, wire.nonce) }

        /// The name of the type alone.
        public var description: String { "OfflineCode" }
        /// Empty, so that `dump` reveals nothing.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }
}
