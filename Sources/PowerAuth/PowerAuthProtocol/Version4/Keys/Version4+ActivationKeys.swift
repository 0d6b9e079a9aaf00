package import PowerAuthCrypto

extension Version4 {
    /// The keys of an activation, derived from the common `KEY_ACTIVATION_SECRET`. The server keeps the secret. The client keeps
    /// its factors' keys and ``Utility``, and drops the secret and the vault's keys after the confirmation.
    package struct ActivationKeys: Sendable, Equatable {
        /// The length of `KEY_ACTIVATION_SECRET` and of all keys.
        package static let byteCount = 32

        /// The kinds of keys, each with its own base key.
        package enum Branch: String, Sendable, CaseIterable {
            case auth
            case vault
            case util
            /// Reserved for the client.
            case enc
        }

        /// The key of the factor "something you have".
        package let possession: SecretBytes
        /// The initial key of the factor "something you know".
        package let knowledge: SecretBytes
        /// The initial key of the factor "something you are".
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

        /// Returns the base key of one kind.
        package static func key(
            of branch: Branch,
            activationSecret: SecretBytes
        ) throws(CryptoError) -> SecretBytes {
            try KeyDerivation.derive(activationSecret, label: branch.rawValue)
        }

        /// The keys that only the server knows after the confirmation.
        package struct Vault: Sendable, Equatable {
            /// Encrypts the device's private keys.
            package let devicePrivateKeys: SecretBytes
            /// The base of application keys for either pair of factors.
            package let applicationTwoFactor: SecretBytes
            /// The base of application keys for the password only.
            package let applicationKnowledge: SecretBytes

            fileprivate init(_ key: SecretBytes) throws(CryptoError) {
                self.devicePrivateKeys = try KeyDerivation.derive(key, label: "vault/kek-device-private")
                self.applicationTwoFactor = try KeyDerivation.derive(key, label: "vault/kdk-app-vault-2fa")
                self.applicationKnowledge = try KeyDerivation.derive(key, label: "vault/kdk-app-vault-knowledge")
            }
        }

        /// The keys that both sides keep permanently.
        package struct Utility: Sendable, Equatable {
            /// Hashes the counter in the status.
            package let counterHash: SecretBytes
            /// Authenticates the status.
            package let status: SecretBytes
            /// Signs requests for temporary keys in the activation scope.
            package let temporaryKeyRequest: SecretBytes
            /// Authenticates offline QR codes.
            package let personalizedData: SecretBytes
            /// Derives `sharedInfo2` in the activation scope.
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
