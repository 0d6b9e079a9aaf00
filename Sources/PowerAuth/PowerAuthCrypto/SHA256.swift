import COpenSSL

package enum SHA256 {
    package static let byteCount = 32

    package static func hash(_ message: [UInt8]) -> [UInt8] {
        [UInt8](count: Self.byteCount) { hash in message.withUnsafeBytes { Self.hash($0, into: hash) } }
    }

    /// Writes the 32-byte hash of `message` to memory.
    package static func hash(_ message: UnsafeRawBufferPointer, into hash: UnsafeMutableRawBufferPointer) {
        precondition(hash.count >= Self.byteCount)
        let context = ThreadContexts.current.digest
        require(EVP_DigestInit_ex2(context, Algorithm.sha256, nil), "EVP_DigestInit_ex2")
        require(EVP_DigestUpdate(context, message.octets, message.count), "EVP_DigestUpdate")
        require(EVP_DigestFinal_ex(context, hash.octets, nil), "EVP_DigestFinal_ex")
    }
}
