package import PowerAuthCrypto

/// Where nonces, challenges and private keys come from; replaceable so that a test can repeat itself.
package struct Randomness: Sendable {
    private let draw: @Sendable (Int) -> SecretBytes

    package init(_ draw: @escaping @Sendable (Int) -> SecretBytes) {
        self.draw = draw
    }

    /// The operating system's.
    package static let system = Self { SecureRandom.secret($0) }

    /// Random bytes that are not secret, such as a nonce.
    package func bytes(_ count: Int) -> [UInt8] {
        self.draw(count).withUnsafeBytes { Array($0) }
    }

    /// A private key. Throws when the source draws a number outside the curve's order, once in 2³² times.
    package func privateKey() throws(CryptoError) -> P256PrivateKey {
        try P256PrivateKey(scalar: self.draw(32))
    }
}
