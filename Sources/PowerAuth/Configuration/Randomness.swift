package import PowerAuthCrypto

/// The source of nonces, challenges and private keys; replaceable so that a test can repeat itself.
package struct Randomness: Sendable {
    private let secret: @Sendable (Int) -> SecretBytes
    private let disclosed: @Sendable (Int) -> [UInt8]

    /// Takes everything from one source.
    package init(_ draw: @escaping @Sendable (Int) -> SecretBytes) {
        self.init(secret: draw) { draw($0).withUnsafeBytes { Array($0) } }
    }

    private init(
        secret: @escaping @Sendable (Int) -> SecretBytes,
        disclosed: @escaping @Sendable (Int) -> [UInt8]
    ) {
        self.secret = secret
        self.disclosed = disclosed
    }

    /// The operating system's.
    package static let system = Self(secret: SecureRandom.secret, disclosed: SecureRandom.bytes)

    /// Returns random bytes that are not secret, such as a nonce.
    package func bytes(_ count: Int) -> [UInt8] { self.disclosed(count) }

    /// Returns random bytes that stay secret.
    package func secretBytes(_ count: Int) -> SecretBytes { self.secret(count) }

    /// Returns a private key. Throws when the source draws a number outside the curve's order, once in 2³² times.
    package func privateKey() throws(CryptoError) -> P256PrivateKey {
        try P256PrivateKey(scalar: self.secret(32))
    }
}
