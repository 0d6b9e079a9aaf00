import COpenSSL

/// KMAC256 of NIST SP 800-185: a keyed hash whose purpose and length are part of what is authenticated, so that a tag of 32
/// bytes is no prefix of one of 64, and a tag for one purpose is none for another.
package enum KMAC256 {
    /// How many bytes a key may have: libcrypto's limits.
    package static let keyByteCounts = 4...512

    /// Returns the tag of a message that comes in parts.
    ///
    /// - Parameters:
    ///   - key: 4 to 512 bytes.
    ///   - customization: What the tag is for.
    ///   - count: The length of the tag.
    /// - Throws: `invalidLength` for a key or a tag of an impossible length.
    package static func authenticate(
        _ parts: [UInt8]...,
        key: SecretBytes,
        customization: String,
        count: Int = 32
    ) throws(CryptoError) -> [UInt8] {
        var tag = [UInt8](repeating: 0, count: max(0, count))
        try key.withUnsafeBytes { (key) throws(CryptoError) in
            try tag.withMutableBytes { (tag) throws(CryptoError) in
                try Self.authenticate(key: key, customization: customization, into: tag) { message in
                    for part in parts { message.update(part) }
                }
            }
        }
        return tag
    }

    /// Returns a key that is made from another one, and leaves no trace of either behind.
    ///
    /// - Throws: `invalidLength` for a key or a derived key of an impossible length.
    package static func derive(
        from message: [UInt8],
        key: SecretBytes,
        customization: String,
        count: Int = 32
    ) throws(CryptoError) -> SecretBytes {
        try Self.derive(key: key, customization: customization, count: count) { $0.update(message) }
    }

    /// Returns a key that is made from another one and a message that comes in parts, and leaves no trace behind.
    ///
    /// - Throws: `invalidLength` for a key or a derived key of an impossible length.
    package static func derive(
        key: SecretBytes,
        customization: String,
        count: Int = 32,
        _ feed: (borrowing Message) -> Void
    ) throws(CryptoError) -> SecretBytes {
        defer { Self.forgetKey() }
        return try SecretBytes(count: max(0, count)) { (derived) throws(CryptoError) in
            try key.withUnsafeBytes { (key) throws(CryptoError) in
                try Self.authenticate(key: key, customization: customization, into: derived, feed)
            }
        }
    }

    /// Writes the tag of a message that comes in parts, as long as the memory given. Allocates nothing.
    ///
    /// - Throws: `invalidLength` for a key of an impossible length, or no memory.
    package static func authenticate(
        key: UnsafeRawBufferPointer,
        customization: String,
        into tag: UnsafeMutableRawBufferPointer,
        _ feed: (borrowing Message) -> Void
    ) throws(CryptoError) {
        guard Self.keyByteCounts.contains(key.count), !tag.isEmpty else { throw CryptoError(.invalidLength) }
        let context = ThreadContexts.current.kmac256.pointer
        Self.start(context, key: key, customization: customization, count: tag.count)
        feed(Message(context: context))
        var count = 0
        let address = tag.baseAddress?.assumingMemoryBound(to: UInt8.self)
        require(EVP_MAC_final(context, address, &count, tag.count), "EVP_MAC_final")
        precondition(count == tag.count)
    }

    /// Puts a key of zeros in the place of the last one. A context keeps its key, and wiping it after each tag would cost as
    /// much again: only the keys that others are derived from are worth it.
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

    /// The message being authenticated, which takes its parts in order. Lent for one call.
    package struct Message: ~Copyable {
        fileprivate let context: OpaquePointer

        /// Appends a part.
        package func update(_ part: UnsafeRawBufferPointer) {
            let address = part.address.assumingMemoryBound(to: UInt8.self)
            require(EVP_MAC_update(self.context, address, part.count), "EVP_MAC_update")
        }

        /// Appends a part.
        package func update(_ part: [UInt8]) { part.withUnsafeBytes { self.update($0) } }

        /// Appends a part.
        package func update(_ part: SecretBytes) { part.withUnsafeBytes { self.update($0) } }
    }
}

extension [UInt8] {
    /// `withUnsafeMutableBytes` with a typed error.
    fileprivate mutating func withMutableBytes<Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        let outcome = self.withUnsafeMutableBytes { bytes -> Result<Void, Failure> in
            do throws(Failure) { return .success(try body(bytes)) } catch { return .failure(error) }
        }
        try outcome.get()
    }
}
