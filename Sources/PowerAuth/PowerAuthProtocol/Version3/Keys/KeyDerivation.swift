import Basics
package import PowerAuthCrypto

/// The two key derivations of version 3.
package enum KeyDerivation {
    /// Returns `KDF(key, i)`: AES-128-CBC with a zero vector of one block: eight zero bytes and the big-endian index.
    ///
    /// - Throws: `invalidLength` unless the key has 16 bytes.
    package static func derive(_ key: SecretBytes, index: UInt64) throws(CryptoError) -> SecretBytes {
        let block = [UInt8](repeating: 0, count: 8) + index.bigEndianBytes
        return try SecretBytes(count: block.count) { (derived) throws(CryptoError) in
            try block.withBytes { (block) throws(CryptoError) in
                try AES128CBC.encryptBlocks(block, into: derived, key: key)
            }
        }
    }

    /// Returns `KDF_INTERNAL(key, index)`: HMAC-SHA-256 of the index, folded to 16 bytes.
    package static func deriveInternal(_ key: SecretBytes, index: [UInt8]) -> SecretBytes {
        Self.fold(HMACSHA256.derive(from: index, key: key))
    }

    /// Returns the exclusive or of both halves.
    package static func fold(_ bytes: SecretBytes) -> SecretBytes {
        let half = bytes.count / 2
        return bytes.withUnsafeBytes { bytes in
            SecretBytes(count: half) { folded in
                for index in 0..<half { folded[index] = bytes[index] ^ bytes[half + index] }
            }
        }
    }
}
