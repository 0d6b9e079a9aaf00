/// The key derivation of ANSI X9.63 with SHA-256: secret, counter and public information, hashed in blocks.
package enum X963KDF {
    /// Derives a key of `count` bytes.
    ///
    /// - Throws: `invalidLength` unless `count` is 1 to 8160.
    package static func deriveKey(
        secret: SecretBytes,
        info: [UInt8],
        count: Int
    ) throws(CryptoError) -> SecretBytes {
        guard (1...8160).contains(count) else { throw CryptoError(.invalidLength) }
        let blockCount = (count + SHA256.byteCount - 1) / SHA256.byteCount
        let blocks = SecretBytes(count: blockCount * SHA256.byteCount) { blocks in
            let input = SecretBytes(count: secret.count + 4 + info.count) { input in
                secret.withUnsafeBytes { input.copyMemory(from: $0) }
                UnsafeMutableRawBufferPointer(rebasing: input[(secret.count + 4)...]).copyBytes(from: info)
                // Only the counter differs between blocks, and fits its last byte.
                for block in 0..<blockCount {
                    input[secret.count + 3] = UInt8(block + 1)
                    let start = block * SHA256.byteCount
                    let hash = UnsafeMutableRawBufferPointer(rebasing: blocks[start..<(start + SHA256.byteCount)])
                    SHA256.hash(UnsafeRawBufferPointer(input), into: hash)
                }
            }
            withExtendedLifetime(input) {}
        }
        return blocks.withUnsafeBytes { SecretBytes(copying: $0.prefix(count)) }
    }
}
