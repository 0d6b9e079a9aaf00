import COpenSSL

/// SHA-384.
package enum SHA384 {
    /// The length of a hash: 48 bytes.
    package static let byteCount = 48

    /// Returns the hash of a message.
    package static func hash(_ message: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.byteCount) { hash, count in
            message.withUnsafeBytes { message in
                let status = EVP_Digest(message.address, message.count, hash.baseAddress, nil, Algorithm.sha384, nil)
                require(status, "EVP_Digest")
            }
            count = Self.byteCount
        }
    }
}
