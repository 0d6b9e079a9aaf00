package import PowerAuthCrypto

/// The counter that makes every signature different: 16 bytes that are only hashed forward.
package struct HashCounter: ForwardCounter {
    /// `CTR_DATA`, 16 bytes.
    package let data: SecretBytes
    package let byte: UInt8

    /// Creates a counter from the server's data or stored data.
    ///
    /// - Parameter byte: The number of steps modulo 256.
    package init(data: SecretBytes, byte: UInt8 = 0) {
        self.data = data
        self.byte = byte
    }

    /// Returns the next counter: SHA-256 of its data, folded to 16 bytes.
    package func next() -> Self {
        let hash = SecretBytes(count: SHA256.byteCount) { hash in
            self.data.withUnsafeBytes { SHA256.hash($0, into: hash) }
        }
        return Self(data: KeyDerivation.fold(hash), byte: self.byte &+ 1)
    }

    /// Returns the 16-byte hash that servers report: `KDF_INTERNAL(KDF(KEY_TRANSPORT, 4000), CTR_DATA)`.
    package func hash(transportKey: SecretBytes) throws(CryptoError) -> [UInt8] {
        self.hash(key: try Self.hashKey(transportKey: transportKey))
    }

    /// Returns the key for hashing several counters of an activation.
    package static func hashKey(transportKey: SecretBytes) throws(CryptoError) -> SecretBytes {
        try KeyDerivation.derive(transportKey, index: 4000)
    }

    /// Returns `KDF_INTERNAL(key, CTR_DATA)`.
    package func hash(key: SecretBytes) -> [UInt8] {
        self.data.withUnsafeBytes { data in KeyDerivation.deriveInternal(key, index: [UInt8](data)).disclosed }
    }
}
