import COpenSSL

/// SHA3-256.
package enum SHA3 {
    /// The length of a hash: 32 bytes.
    package static let byteCount = 32

    /// Returns the hash of a message.
    package static func hash(_ message: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.byteCount) { hash, count in
            message.withUnsafeBytes { Self.hash($0, into: UnsafeMutableRawBufferPointer(hash)) }
            count = Self.byteCount
        }
    }

    /// Returns the hash of a secret, which is a secret as well.
    package static func hash(_ secret: SecretBytes) -> SecretBytes {
        SecretBytes(count: Self.byteCount) { hash in secret.withUnsafeBytes { Self.hash($0, into: hash) } }
    }

    /// Hashes a message into 32 bytes of memory.
    package static func hash(_ message: UnsafeRawBufferPointer, into hash: UnsafeMutableRawBufferPointer) {
        precondition(hash.count >= Self.byteCount)
        let address = hash.baseAddress?.assumingMemoryBound(to: UInt8.self)
        require(EVP_Digest(message.address, message.count, address, nil, Algorithm.sha3, nil), "EVP_Digest")
    }
}
