package import PowerAuthCrypto

/// The counter that makes every signature different: 16 bytes that are hashed forward, never back.
package struct HashCounter: Sendable, Equatable {
    /// `CTR_DATA`, 16 bytes.
    package let data: SecretBytes
    /// How many steps lie behind, modulo 256: enough to tell how far two counters are apart.
    package let byte: UInt8

    /// Wraps a counter as the server handed it out, or as it was stored.
    package init(data: SecretBytes, byte: UInt8 = 0) {
        self.data = data
        self.byte = byte
    }

    /// One step forward: SHA-256 of the counter, folded to 16 bytes.
    package func next() -> Self {
        let hash = SecretBytes(count: SHA256.byteCount) { hash in
            self.data.withUnsafeBytes { SHA256.hash($0, into: hash) }
        }
        return Self(data: KeyDerivation.fold(hash), byte: self.byte &+ 1)
    }

    /// Several steps forward.
    package func advanced(by steps: Int) -> Self {
        precondition(steps >= 0, "a hash counter cannot go back")
        return (0..<steps).reduce(self) { counter, _ in counter.next() }
    }

    /// What the server tells of its counter: `KDF_INTERNAL(KDF(KEY_TRANSPORT, 4000), CTR_DATA)`, 16 bytes.
    package func hash(transportKey: SecretBytes) throws(CryptoError) -> [UInt8] {
        self.hash(key: try Self.hashKey(transportKey: transportKey))
    }

    /// The key that hashes the counters of an activation, for when there are several to hash.
    static func hashKey(transportKey: SecretBytes) throws(CryptoError) -> SecretBytes {
        try KeyDerivation.derive(transportKey, index: 4000)
    }

    func hash(key: SecretBytes) -> [UInt8] {
        self.data.withUnsafeBytes { data in KeyDerivation.deriveInternal(key, index: [UInt8](data)).disclosed }
    }
}
