package import PowerAuthCrypto

extension Version4 {
    /// The counter that makes every authentication code different: 32 bytes that are only hashed forward.
    package struct HashCounter: ForwardCounter {
        package static let byteCount = 32

        /// `CTR_DATA`, 32 bytes.
        package let data: SecretBytes
        package let byte: UInt8

        /// Creates a counter from the server's data or stored data.
        ///
        /// - Parameter byte: The number of steps modulo 256.
        package init(data: SecretBytes, byte: UInt8 = 0) {
            self.data = data
            self.byte = byte
        }

        /// Returns the next counter: SHA3-256 of its data.
        package func next() -> Self { Self(data: SHA3.hash(self.data), byte: self.byte &+ 1) }

        /// Returns the 32-byte hash that servers report.
        ///
        /// - Parameter key: ``ActivationKeys/Utility/counterHash``.
        package func hash(key: SecretBytes) throws(CryptoError) -> [UInt8] {
            try KMAC256.derive(key: key, customization: "PA4MAC-CTR") { $0.update(self.data) }.disclosed
        }
    }
}
