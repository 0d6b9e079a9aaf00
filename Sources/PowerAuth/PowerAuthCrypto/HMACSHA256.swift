import COpenSSL

package enum HMACSHA256 {
    package static let byteCount = 32

    package static func authenticate(_ message: [UInt8], key: SecretBytes) -> [UInt8] {
        [UInt8](count: Self.byteCount) { tag in
            key.withUnsafeBytes { key in
                Self.authenticate(key: key, into: tag) { $0.update(message) }
            }
        }
    }

    /// Returns the tag of the concatenated parts.
    package static func authenticate(_ parts: [[UInt8]], key: SecretBytes) -> [UInt8] {
        [UInt8](count: Self.byteCount) { tag in
            key.withUnsafeBytes { key in
                Self.authenticate(key: key, into: tag) { message in
                    for part in parts { message.update(part) }
                }
            }
        }
    }

    /// Returns the tag of `message` as a key.
    package static func derive(from message: [UInt8], key: SecretBytes) -> SecretBytes {
        SecretBytes(count: Self.byteCount) { tag in
            key.withUnsafeBytes { key in
                Self.authenticate(key: key, into: tag) { $0.update(message) }
            }
        }
    }

    /// Returns the tag of `message` as a key, without leaving a copy of `key`. The thread's shared context keeps the last key
    /// until its next use. A context of its own costs about a microsecond more.
    package static func deriveLeavingNoCopy(from message: [UInt8], key: SecretBytes) -> SecretBytes {
        let context = MACContext(Algorithm.hmac, digest: "SHA256")
        return SecretBytes(count: Self.byteCount) { tag in
            key.withUnsafeBytes { key in
                Self.authenticate(key: key, into: tag, in: context) { $0.update(message) }
            }
        }
    }

    /// Writes the 32-byte tag of `message` to memory, which may overlap the key or the message.
    package static func authenticate(
        _ message: UnsafeRawBufferPointer,
        key: UnsafeRawBufferPointer,
        into tag: UnsafeMutableRawBufferPointer
    ) {
        Self.authenticate(key: key, into: tag) { $0.update(message) }
    }

    /// Writes the 32-byte tag of a message in parts to memory, without allocations.
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
