import COpenSSL

/// HMAC with SHA-256.
package enum HMACSHA256 {
    /// The length of a tag: 32 bytes.
    package static let byteCount = 32

    /// Returns the tag of `message`.
    package static func authenticate(_ message: [UInt8], key: SecretBytes) -> [UInt8] {
        [UInt8](count: Self.byteCount) { tag in
            key.withUnsafeBytes { key in
                Self.authenticate(key: key, into: tag) { $0.update(message) }
            }
        }
    }

    /// Returns the tag of a message that comes in parts.
    package static func authenticate(_ parts: [[UInt8]], key: SecretBytes) -> [UInt8] {
        [UInt8](count: Self.byteCount) { tag in
            key.withUnsafeBytes { key in
                Self.authenticate(key: key, into: tag) { message in
                    for part in parts { message.update(part) }
                }
            }
        }
    }

    /// Returns the tag of `message`, where the tag is itself a key.
    package static func derive(from message: [UInt8], key: SecretBytes) -> SecretBytes {
        SecretBytes(count: Self.byteCount) { tag in
            key.withUnsafeBytes { key in
                Self.authenticate(key: key, into: tag) { $0.update(message) }
            }
        }
    }

    /// Returns the tag of `message`, where the tag is itself a key, and leaves no copy of `key` behind.
    ///
    /// The context that a thread's other calls share keeps the last key until the next call. This one is made and wiped for
    /// the call, which takes about a microsecond more.
    package static func deriveLeavingNoCopy(from message: [UInt8], key: SecretBytes) -> SecretBytes {
        let context = MACContext(Algorithm.hmac, digest: "SHA256")
        return SecretBytes(count: Self.byteCount) { tag in
            key.withUnsafeBytes { key in
                Self.authenticate(key: key, into: tag, in: context) { $0.update(message) }
            }
        }
    }

    /// Writes the tag of `message` into 32 bytes of memory, which may be those of the key or of the message.
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
        _ feed: (borrowing MACMessage) -> Void
    ) {
        Self.authenticate(key: key, into: tag, in: ThreadContexts.current.hmacSHA256, feed)
    }

    private static func authenticate(
        key: UnsafeRawBufferPointer,
        into tag: UnsafeMutableRawBufferPointer,
        in context: MACContext,
        _ feed: (borrowing MACMessage) -> Void
    ) {
        precondition(tag.count == Self.byteCount)
        require(EVP_MAC_init(context.pointer, key.octets, key.count, nil), "EVP_MAC_init")
        MACMessage.authenticate(in: context.pointer, into: tag, feed)
    }
}
