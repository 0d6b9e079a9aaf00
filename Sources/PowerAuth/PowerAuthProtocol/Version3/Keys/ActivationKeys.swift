package import PowerAuthCrypto

/// The keys of an activation, which each side derives from its private key and the other's public key. `KEY_MASTER_SECRET` is the
/// Diffie-Hellman secret folded to 16 bytes, and is not kept. Each key is `KDF(KEY_MASTER_SECRET, i)` with i = 1 possession, 2
/// knowledge, 3 biometry, 1000 transport, 2000 vault.
package struct ActivationKeys: Sendable, Equatable {
    /// The key of the factor "something you have".
    package let possession: SecretBytes
    /// The key of the factor "something you know"; stored only encrypted with a password.
    package let knowledge: SecretBytes
    /// The key of the factor "something you are"; in a server process, an external key.
    package let biometry: SecretBytes
    /// Protects status, vault key and encrypted requests in transit.
    package let transport: SecretBytes
    /// `KEY_ENCRYPTION_VAULT`: encrypts the device's private key. The client never stores it.
    package let vault: SecretBytes

    /// Derives the keys from one side's private and the other side's public key.
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

    package func key(of factor: SignatureFactor) -> SecretBytes {
        switch factor {
        case .possession: self.possession
        case .knowledge: self.knowledge
        case .biometry: self.biometry
        }
    }

    /// Returns the keys for a signature type, in the order of its components.
    package func keys(for type: SignatureType) -> [SecretBytes] { type.factors.map(self.key(of:)) }
}
