package import PowerAuthCrypto

/// The source of nonces, challenges and private keys. Tests replace it with a reproducible one.
package struct Randomness: Sendable {
    private let secret: @Sendable (Int) -> SecretBytes
    private let disclosed: @Sendable (Int) -> [UInt8]

    /// Uses one source for everything.
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

    package static let system = Self(secret: SecureRandom.secret, disclosed: SecureRandom.bytes)

    /// Returns random bytes for public use, such as a nonce.
    package func bytes(_ count: Int) -> [UInt8] { self.disclosed(count) }

    package func secretBytes(_ count: Int) -> SecretBytes { self.secret(count) }

    /// Returns a private key. Throws if the drawn number is outside the curve's order, once in 2³² times.
    package func privateKey() throws(CryptoError) -> P256PrivateKey {
        try P256PrivateKey(scalar: self.secret(32))
    }
}
