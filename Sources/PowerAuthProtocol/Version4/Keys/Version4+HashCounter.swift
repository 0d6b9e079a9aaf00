package import PowerAuthCrypto

extension Version4 {
    /// The counter that makes every authentication code different: 32 bytes that are hashed forward, never back.
    package struct HashCounter: Sendable, Equatable {
        /// The length of `CTR_DATA`.
        package static let byteCount = 32

        /// `CTR_DATA`, 32 bytes.
        package let data: SecretBytes
        /// How many steps lie behind, modulo 256: enough to tell how far two counters are apart.
        package let byte: UInt8

        /// Wraps a counter as the server handed it out, or as it was stored.
        package init(data: SecretBytes, byte: UInt8 = 0) {
            self.data = data
            self.byte = byte
        }

        /// Returns the counter one step forward: SHA3-256 of its data.
        package func next() -> Self { Self(data: SHA3.hash(self.data), byte: self.byte &+ 1) }

        /// Returns the counter several steps forward.
        package func advanced(by steps: Int) -> Self {
            precondition(steps >= 0, "a hash counter cannot go back")
            return (0..<steps).reduce(self) { counter, _ in counter.next() }
        }

        /// Returns what the status tells of the counter, 32 bytes.
        ///
        /// - Parameter key: ``ActivationKeys/Utility/counterHash``.
        package func hash(key: SecretBytes) throws(CryptoError) -> [UInt8] {
            try KMAC256.derive(key: key, customization: "PA4MAC-CTR") { $0.update(self.data) }.disclosed
        }
    }
}
