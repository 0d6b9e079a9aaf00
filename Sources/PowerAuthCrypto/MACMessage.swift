import COpenSSL

/// A message that is being authenticated, which takes its parts in order. It is lent for one call.
package struct MACMessage: ~Copyable {
    private let context: OpaquePointer

    /// Appends a part.
    package func update(_ part: UnsafeRawBufferPointer) {
        require(EVP_MAC_update(self.context, part.octets, part.count), "EVP_MAC_update")
    }

    /// Appends a part.
    package func update(_ part: [UInt8]) { part.withUnsafeBytes { self.update($0) } }

    /// Appends a part.
    package func update(_ part: SecretBytes) { part.withUnsafeBytes { self.update($0) } }

    /// Lends the message of a context that has its key to `feed`, and then writes the tag, which is as long as `tag`.
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
