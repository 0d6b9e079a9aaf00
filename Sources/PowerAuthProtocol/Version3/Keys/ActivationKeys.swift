package import PowerAuthCrypto

/// The keys of one activation, which device and server each derive from their own private key and the other's public one.
///
/// `KEY_MASTER_SECRET` is the Diffie-Hellman secret folded to 16 bytes; each key is `KDF(KEY_MASTER_SECRET, i)` with
/// i = 1 possession, 2 knowledge, 3 biometry, 1000 transport, 2000 vault. The master secret itself is not kept.
package struct ActivationKeys: Sendable, Equatable {
    /// Signs as the factor "something you have".
    package let possession: SecretBytes
    /// Signs as the factor "something you know"; stored under a password only.
    package let knowledge: SecretBytes
    /// Signs as the factor "something you are"; in a server process, a key held elsewhere.
    package let biometry: SecretBytes
    /// Protects data in transit: status, vault key, encrypted requests.
    package let transport: SecretBytes
    /// `KEY_ENCRYPTION_VAULT`: protects the device's private key. The client never stores it.
    package let vault: SecretBytes

    /// Derives the keys from a private key and the other side's public key: the device's and the server's, or the server's
    /// and the device's.
    package init(privateKey: P256PrivateKey, publicKey: P256PublicKey) throws(CryptoError) {
        try self.init(masterSecret: KeyDerivation.fold(privateKey.sharedSecret(with: publicKey)))
    }

    /// Derives the keys from `KEY_MASTER_SECRET`.
    package init(masterSecret: SecretBytes) throws(CryptoError) {
        self.possession = try KeyDerivation.derive(masterSecret, index: 1)
        self.knowledge = try KeyDerivation.derive(masterSecret, index: 2)
        self.biometry = try KeyDerivation.derive(masterSecret, index: 3)
        self.transport = try KeyDerivation.derive(masterSecret, index: 1000)
        self.vault = try KeyDerivation.derive(masterSecret, index: 2000)
    }

    /// Returns the key of a factor.
    package func key(of factor: SignatureFactor) -> SecretBytes {
        switch factor {
        case .possession: self.possession
        case .knowledge: self.knowledge
        case .biometry: self.biometry
        }
    }

    /// Returns the keys that make a signature of this type, in the order of their components.
    package func keys(for type: SignatureType) -> [SecretBytes] { type.factors.map(self.key(of:)) }
}
