import COpenSSL

/// A message to authenticate, lent for one call. It takes its parts in order.
package struct MACMessage: ~Copyable {
    private let context: OpaquePointer

    package func update(_ part: UnsafeRawBufferPointer) {
        require(EVP_MAC_update(self.context, part.octets, part.count), "EVP_MAC_update")
    }

    package func update(_ part: [UInt8]) { part.withUnsafeBytes { self.update($0) } }

    package func update(_ part: SecretBytes) { part.withUnsafeBytes { self.update($0) } }

    /// Lends the message of a keyed context to `feed`, then fills `tag`.
    static func authenticate(
        in context: OpaquePointer,
        into tag: UnsafeMutableRawBufferPointer,
        _ feed: (borrowing MACMessage) -> Void
    ) {
        feed(MACMessage(context: context))
        var count = 0
        require(EVP_MAC_final(context, tag.octets, &count, tag.count), "EVP_MAC_final")
        precondition(count == tag.count)
    }
}
