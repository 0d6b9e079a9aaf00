import COpenSSL

/// KMAC256 of NIST SP 800-185: a keyed hash that also authenticates purpose and length. A 32-byte tag is no prefix of a 64-byte
/// one, and tags for different purposes differ.
package enum KMAC256 {
    /// The allowed key lengths: libcrypto's limits.
    package static let keyByteCounts = 4...512

    /// Returns the tag of the concatenated parts.
    ///
    /// - Parameters:
    ///   - key: 4 to 512 bytes.
    ///   - customization: The purpose of the tag.
    ///   - count: The length of the tag.
    /// - Throws: `invalidLength` for an invalid length of the key or the tag.
    package static func authenticate(
        _ parts: [UInt8]...,
        key: SecretBytes,
        customization: String,
        count: Int = 32
    ) throws(CryptoError) -> [UInt8] {
        try Self.authenticate(key: key, customization: customization, count: count) { message in
            for part in parts { message.update(part) }
        }
    }

    /// Returns the tag of a message in parts.
    ///
    /// - Throws: `invalidLength` for an invalid length of the key or the tag.
    package static func authenticate(
        key: SecretBytes,
        customization: String,
        count: Int = 32,
        _ feed: (borrowing MACMessage) -> Void
    ) throws(CryptoError) -> [UInt8] {
        try [UInt8](count: max(0, count)) { (tag) throws(CryptoError) in
            try key.withUnsafeBytes { (key) throws(CryptoError) in
                try Self.authenticate(key: key, customization: customization, into: tag, feed)
            }
        }
    }

    /// Derives a key without leaving copies.
    ///
    /// - Throws: `invalidLength` for an invalid length of a key.
    package static func derive(
        from message: [UInt8],
        key: SecretBytes,
        customization: String,
        count: Int = 32
    ) throws(CryptoError) -> SecretBytes {
        try Self.derive(key: key, customization: customization, count: count) { $0.update(message) }
    }

    /// Derives two 32-byte keys without leaving copies.
    ///
    /// - Throws: `invalidLength` for an invalid length of the key.
    package static func derivePair(
        from messages: ([UInt8], [UInt8]),
        key: SecretBytes,
        customization: String
    ) throws(CryptoError) -> (SecretBytes, SecretBytes) {
        // The base key is wiped after both, because wiping costs nearly as much as deriving one.
        defer { Self.forgetKey() }
        func derive(_ message: [UInt8]) throws(CryptoError) -> SecretBytes {
            try Self.deriveKeepingKey(key, customization, count: 32) { $0.update(message) }
        }
        return (try derive(messages.0), try derive(messages.1))
    }

    /// Derives a key from a message in parts, without leaving copies.
    ///
    /// - Throws: `invalidLength` for an invalid length of a key.
    package static func derive(
        key: SecretBytes,
        customization: String,
        count: Int = 32,
        _ feed: (borrowing MACMessage) -> Void
    ) throws(CryptoError) -> SecretBytes {
        defer { Self.forgetKey() }
        return try Self.deriveKeepingKey(key, customization, count: count, feed)
    }

    private static func deriveKeepingKey(
        _ key: SecretBytes,
        _ customization: String,
        count: Int,
        _ feed: (borrowing MACMessage) -> Void
    ) throws(CryptoError) -> SecretBytes {
        try SecretBytes(count: max(0, count)) { (derived) throws(CryptoError) in
            try key.withUnsafeBytes { (key) throws(CryptoError) in
                try Self.authenticate(key: key, customization: customization, into: derived, feed)
            }
        }
    }

    /// Writes the tag of a message in parts to `tag`, without allocations.
    ///
    /// - Throws: `invalidLength` for an invalid length of the key, or if memory runs out.
    package static func authenticate(
        key: UnsafeRawBufferPointer,
        customization: String,
        into tag: UnsafeMutableRawBufferPointer,
        _ feed: (borrowing MACMessage) -> Void
    ) throws(CryptoError) {
        guard Self.keyByteCounts.contains(key.count), !tag.isEmpty else { throw CryptoError(.invalidLength) }
        let context = ThreadContexts.current.kmac256.pointer
        Self.start(context, key: key, customization: customization, count: tag.count)
        MACMessage.authenticate(in: context, into: tag, feed)
    }

    /// Overwrites the context's last key with zeros. That costs as much as a tag, so only base keys are wiped.
    private static func forgetKey() {
        let zeros: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        withUnsafeBytes(of: zeros) {
            Self.start(ThreadContexts.current.kmac256.pointer, key: $0, customization: "", count: 32)
        }
    }

    private static func start(
        _ context: OpaquePointer,
        key: UnsafeRawBufferPointer,
        customization: String,
        count: Int
    ) {
        var customization = customization
        let status = customization.withUTF8 { customization in
            COpenSSL_KMAC_init(
                context,
                key.baseAddress,
                key.count,
                customization.baseAddress,
                customization.count,
                count
            )
        }
        require(status, "EVP_MAC_init")
    }
}
