import COpenSSL

/// SHA3-256.
package enum SHA3 {
    /// The length of a hash: 32 bytes.
    package static let byteCount = 32

    /// Returns the hash of `message`.
    package static func hash(_ message: [UInt8]) -> [UInt8] {
        [UInt8](count: Self.byteCount) { hash in message.withUnsafeBytes { Self.hash($0, into: hash) } }
    }

    /// Returns the hash of a secret, which is a secret as well.
    package static func hash(_ secret: SecretBytes) -> SecretBytes {
        SecretBytes(count: Self.byteCount) { hash in secret.withUnsafeBytes { Self.hash($0, into: hash) } }
    }

    private static func hash(_ message: UnsafeRawBufferPointer, into hash: UnsafeMutableRawBufferPointer) {
        require(EVP_Digest(message.octets, message.count, hash.octets, nil, Algorithm.sha3, nil), "EVP_Digest")
    }
}
