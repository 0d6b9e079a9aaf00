import COpenSSL

/// SHA-256.
package enum SHA256 {
    /// The length of a hash: 32 bytes.
    package static let byteCount = 32

    /// Returns the hash of `message`.
    package static func hash(_ message: [UInt8]) -> [UInt8] {
        [UInt8](count: Self.byteCount) { hash in message.withUnsafeBytes { Self.hash($0, into: hash) } }
    }

    /// Writes the hash of `message` into 32 bytes of memory.
    package static func hash(_ message: UnsafeRawBufferPointer, into hash: UnsafeMutableRawBufferPointer) {
        precondition(hash.count >= Self.byteCount)
        let context = ThreadContexts.current.digest
        require(EVP_DigestInit_ex2(context, Algorithm.sha256, nil), "EVP_DigestInit_ex2")
        require(EVP_DigestUpdate(context, message.octets, message.count), "EVP_DigestUpdate")
        require(EVP_DigestFinal_ex(context, hash.octets, nil), "EVP_DigestFinal_ex")
    }
}
