package import PowerAuthCrypto

/// A counter of one version of the protocol: data that is hashed forward, never back, so that every signature differs.
package protocol ForwardCounter: Sendable, Equatable {
    /// The number of steps so far, modulo 256: enough to tell how far two counters are apart.
    var byte: UInt8 { get }

    /// Returns the counter one step forward.
    func next() -> Self

    /// Returns the hash by which a server reports its counter.
    ///
    /// - Parameter key: The key that the version uses for it.
    func hash(key: SecretBytes) throws(CryptoError) -> [UInt8]
}

extension ForwardCounter {
    /// Returns the counter several steps forward.
    package func advanced(by steps: Int) -> Self {
        precondition(steps >= 0, "a hash counter cannot go back")
        return (0..<steps).reduce(self) { counter, _ in counter.next() }
    }
}
