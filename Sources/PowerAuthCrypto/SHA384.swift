import COpenSSL

/// SHA-384.
package enum SHA384 {
    /// The length of a hash: 48 bytes.
    package static let byteCount = 48

    /// Returns the hash of `message`.
    package static func hash(_ message: [UInt8]) -> [UInt8] {
        [UInt8](count: Self.byteCount) { hash in
            require(EVP_Digest(message, message.count, hash.octets, nil, Algorithm.sha384, nil), "EVP_Digest")
        }
    }
}
