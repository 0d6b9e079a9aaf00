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
}
