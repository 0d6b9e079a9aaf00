import COpenSSL

package enum SHA3 {
    package static let byteCount = 32

    package static func hash(_ message: [UInt8]) -> [UInt8] {
        [UInt8](count: Self.byteCount) { hash in message.withUnsafeBytes { Self.hash($0, into: hash) } }
    }

    /// Returns the hash of a secret as a secret.
    package static func hash(_ secret: SecretBytes) -> SecretBytes {
        SecretBytes(count: Self.byteCount) { hash in secret.withUnsafeBytes { Self.hash($0, into: hash) } }
    }

    private static func hash(_ message: UnsafeRawBufferPointer, into hash: UnsafeMutableRawBufferPointer) {
        require(EVP_Digest(message.octets, message.count, hash.octets, nil, Algorithm.sha3, nil), "EVP_Digest")
    }
}
