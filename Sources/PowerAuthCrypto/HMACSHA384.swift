import COpenSSL

/// HMAC with SHA-384.
package enum HMACSHA384 {
    /// The length of a tag: 48 bytes.
    package static let byteCount = 48

    /// Returns the tag of a message.
    package static func authenticate(_ message: [UInt8], key: SecretBytes) -> [UInt8] {
        let context = ThreadContexts.current.hmacSHA384.pointer
        key.withUnsafeBytes { key in
            let status = EVP_MAC_init(context, key.address.assumingMemoryBound(to: UInt8.self), key.count, nil)
            require(status, "EVP_MAC_init")
        }
        require(EVP_MAC_update(context, message, message.count), "EVP_MAC_update")
        return [UInt8](unsafeUninitializedCapacity: Self.byteCount) { tag, count in
            require(EVP_MAC_final(context, tag.baseAddress, &count, Self.byteCount), "EVP_MAC_final")
            precondition(count == Self.byteCount)
        }
    }

    /// Returns whether a tag is the one of this message. Takes the same time wherever it differs.
    package static func isValid(_ tag: [UInt8], for message: [UInt8], key: SecretBytes) -> Bool {
        constantTimeEquals(Self.authenticate(message, key: key), tag)
    }
}
