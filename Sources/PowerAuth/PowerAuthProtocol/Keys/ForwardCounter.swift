package import PowerAuthCrypto

/// A protocol version's counter: data that is only hashed forward, so that every signature differs.
package protocol ForwardCounter: Sendable, Equatable {
    /// The number of steps modulo 256, for comparing counters.
    var byte: UInt8 { get }

    func next() -> Self

    /// Returns the hash that servers report.
    ///
    /// - Parameter key: The version's key for it.
    func hash(key: SecretBytes) throws(CryptoError) -> [UInt8]
}

extension ForwardCounter {
    package func advanced(by steps: Int) -> Self {
        precondition(steps >= 0, "a hash counter cannot go back")
        return (0..<steps).reduce(self) { counter, _ in counter.next() }
    }
}
