import COpenSSL

/// HMAC with SHA-256.
package enum HMACSHA256 {
    /// The length of a tag: 32 bytes.
    package static let byteCount = 32

    /// The tag of a message.
    package static func authenticate(_ message: [UInt8], key: SecretBytes) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.byteCount) { tag, count in
            key.withUnsafeBytes { key in
                message.withUnsafeBytes { Self.authenticate($0, key: key, into: UnsafeMutableRawBufferPointer(tag)) }
            }
            count = Self.byteCount
        }
    }

    /// The tag of a message that comes in parts.
    package static func authenticate(_ parts: [[UInt8]], key: SecretBytes) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.byteCount) { tag, count in
            key.withUnsafeBytes { key in
                Self.authenticate(key: key, into: UnsafeMutableRawBufferPointer(tag)) { message in
                    for part in parts { part.withUnsafeBytes { message.update($0) } }
                }
            }
            count = Self.byteCount
        }
    }

    /// The tag of a message, where the tag is itself a key.
    package static func derive(from message: [UInt8], key: SecretBytes) -> SecretBytes {
        SecretBytes(count: Self.byteCount) { tag in
            message.withUnsafeBytes { message in
                key.withUnsafeBytes { key in Self.authenticate(message, key: key, into: tag) }
            }
        }
    }

    /// The tag of a message, where the tag is itself a key, computed in a context of its own that is wiped at the end.
    ///
    /// For a key that is to leave no copy behind: the context that a thread's other calls share keeps the last key until the
    /// next call. This takes about a microsecond more.
    package static func deriveLeavingNoCopy(from message: [UInt8], key: SecretBytes) -> SecretBytes {
        let context = require(EVP_MAC_CTX_new(Algorithm.hmac), "EVP_MAC_CTX_new")
        defer { EVP_MAC_CTX_free(context) }
        require(COpenSSL_MAC_set_digest(context, "SHA256"), "EVP_MAC_CTX_set_params")
        return SecretBytes(count: Self.byteCount) { tag in
            message.withUnsafeBytes { message in
                key.withUnsafeBytes { key in
                    Self.authenticate(key: key, into: tag, in: context) { $0.update(message) }
                }
            }
        }
    }

    /// Whether a tag is the one of this message. Takes the same time wherever it differs.
    package static func isValid(_ tag: [UInt8], for message: [UInt8], key: SecretBytes) -> Bool {
        constantTimeEquals(Self.authenticate(message, key: key), tag)
    }

    /// Writes the tag of a message into 32 bytes of memory, which may be those of the key or of the message.
    package static func authenticate(
        _ message: UnsafeRawBufferPointer,
        key: UnsafeRawBufferPointer,
        into tag: UnsafeMutableRawBufferPointer
    ) {
        Self.authenticate(key: key, into: tag) { $0.update(message) }
    }

    /// Writes the tag of a message that comes in parts into 32 bytes of memory. Allocates nothing.
    package static func authenticate(
        key: UnsafeRawBufferPointer,
        into tag: UnsafeMutableRawBufferPointer,
        _ feed: (borrowing Message) -> Void
    ) {
        Self.authenticate(key: key, into: tag, in: ThreadContexts.current.mac, feed)
    }

    private static func authenticate(
        key: UnsafeRawBufferPointer,
        into tag: UnsafeMutableRawBufferPointer,
        in context: OpaquePointer,
        _ feed: (borrowing Message) -> Void
    ) {
        precondition(tag.count >= Self.byteCount)
        require(EVP_MAC_init(context, key.address.assumingMemoryBound(to: UInt8.self), key.count, nil), "EVP_MAC_init")
        feed(Message(context: context))
        var count = 0
        let address = tag.baseAddress?.assumingMemoryBound(to: UInt8.self)
        require(EVP_MAC_final(context, address, &count, tag.count), "EVP_MAC_final")
        precondition(count == Self.byteCount)
    }

    /// The message being authenticated, which takes its parts in order. Lent for one call.
    package struct Message: ~Copyable {
        fileprivate let context: OpaquePointer

        /// Appends a part.
        package func update(_ part: UnsafeRawBufferPointer) {
            let address = part.address.assumingMemoryBound(to: UInt8.self)
            require(EVP_MAC_update(self.context, address, part.count), "EVP_MAC_update")
        }
    }
}
