package import PowerAuthCrypto

extension Version4 {
    /// The keys of one activation, all derived from `KEY_ACTIVATION_SECRET`, which device and server agree on.
    ///
    /// A server keeps the secret. A client keeps the keys of its factors and ``Utility``, and forgets the secret and the vault's
    /// keys when the activation has been confirmed.
    package struct ActivationKeys: Sendable, Equatable {
        /// The length of `KEY_ACTIVATION_SECRET`, and of every key here.
        package static let byteCount = 32

        /// The kinds of keys, each derived from a key of its own.
        package enum Branch: String, Sendable, CaseIterable {
            case auth
            case vault
            case util
            /// Reserved for the client.
            case enc
        }

        /// Makes codes as the factor "something you have".
        package let possession: SecretBytes
        /// Makes codes as the factor "something you know", until the password is changed.
        package let knowledge: SecretBytes
        /// Makes codes as the factor "something you are", until another key is agreed on.
        package let biometry: SecretBytes
        /// The keys of the server's vault.
        package let vault: Vault
        /// The keys that both sides keep.
        package let utility: Utility

        /// Derives all keys.
        ///
        /// - Throws: `invalidLength` unless the secret has 32 bytes.
        package init(activationSecret: SecretBytes) throws(CryptoError) {
            guard activationSecret.count == Self.byteCount else { throw CryptoError(.invalidLength) }
            let auth = try Self.key(of: .auth, activationSecret: activationSecret)
            self.possession = try KeyDerivation.derive(auth, label: "auth/possession")
            self.knowledge = try KeyDerivation.derive(auth, label: "auth/knowledge")
            self.biometry = try KeyDerivation.derive(auth, label: "auth/biometry")
            self.vault = try Vault(Self.key(of: .vault, activationSecret: activationSecret))
            self.utility = try Utility(Self.key(of: .util, activationSecret: activationSecret))
        }

        /// Returns the key from which the keys of one kind are derived.
        package static func key(
            of branch: Branch,
            activationSecret: SecretBytes
        ) throws(CryptoError) -> SecretBytes {
            try KeyDerivation.derive(activationSecret, label: branch.rawValue)
        }

        /// The keys that only the server knows once an activation has been confirmed.
        package struct Vault: Sendable, Equatable {
            /// Seals the private keys of the device.
            package let devicePrivateKeys: SecretBytes
            /// The base of application keys that either pair of factors opens.
            package let applicationTwoFactor: SecretBytes
            /// The base of application keys that only the password opens.
            package let applicationKnowledge: SecretBytes

            fileprivate init(_ key: SecretBytes) throws(CryptoError) {
                self.devicePrivateKeys = try KeyDerivation.derive(key, label: "vault/kek-device-private")
                self.applicationTwoFactor = try KeyDerivation.derive(key, label: "vault/kdk-app-vault-2fa")
                self.applicationKnowledge = try KeyDerivation.derive(key, label: "vault/kdk-app-vault-knowledge")
            }
        }

        /// The keys that both sides keep for the life of the activation.
        package struct Utility: Sendable, Equatable {
            /// Hashes the counter in the status.
            package let counterHash: SecretBytes
            /// Authenticates the status.
            package let status: SecretBytes
            /// Signs requests for temporary keys in the scope of the activation.
            package let temporaryKeyRequest: SecretBytes
            /// Authenticates offline QR codes.
            package let personalizedData: SecretBytes
            /// Derives `sharedInfo2` of encrypted requests in the scope of the activation.
            package let sharedInfo2: SecretBytes
            /// The base of keys for the application's own use.
            package let application: SecretBytes

            fileprivate init(_ key: SecretBytes) throws(CryptoError) {
                self.counterHash = try KeyDerivation.derive(key, label: "util/mac/ctr-data")
                self.status = try KeyDerivation.derive(key, label: "util/mac/status")
                self.temporaryKeyRequest = try KeyDerivation.derive(key, label: "util/mac/get-act-temp-key")
                self.personalizedData = try KeyDerivation.derive(key, label: "util/mac/personalized-data")
                self.sharedInfo2 = try KeyDerivation.derive(key, label: "util/key-e2ee-sh2")
                self.application = try KeyDerivation.derive(key, label: "util/app")
            }

            /// Restores keys that were stored.
            package init(
                counterHash: SecretBytes,
                status: SecretBytes,
                temporaryKeyRequest: SecretBytes,
                personalizedData: SecretBytes,
                sharedInfo2: SecretBytes,
                application: SecretBytes
            ) {
                self.counterHash = counterHash
                self.status = status
                self.temporaryKeyRequest = temporaryKeyRequest
                self.personalizedData = personalizedData
                self.sharedInfo2 = sharedInfo2
                self.application = application
            }
        }
    }
}
