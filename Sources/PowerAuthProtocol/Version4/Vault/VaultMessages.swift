import Basics
package import PowerAuthCrypto

extension Version4 {
    /// A key of the vault that a client can ask for.
    package enum VaultKeyIdentifier: String, Sendable, Codable, CaseIterable {
        /// Seals the private keys of the device.
        case devicePrivateKeys = "KEK_DEVICE_PRIVATE"
        /// The base of application keys that only the password opens.
        case applicationKnowledge = "KDK_APP_VAULT_KNOWLEDGE"
        /// The base of application keys that either pair of factors opens.
        case applicationTwoFactor = "KDK_APP_VAULT_2FA"

        /// The types of code for which a server hands the key out. One can forbid biometry for the device's private keys.
        package var allowedTypes: Set<AuthenticationCodeType> {
            switch self {
            case .applicationKnowledge: [.possessionKnowledge]
            case .devicePrivateKeys, .applicationTwoFactor: [.possessionKnowledge, .possessionBiometry]
            }
        }

        /// The label of application keys derived from it; `nil` for the key that seals others.
        fileprivate var applicationKeyLabel: String? {
            switch self {
            case .devicePrivateKeys: nil
            case .applicationKnowledge: "app/kdf/knowledge"
            case .applicationTwoFactor: "app/kdf/2fa"
            }
        }
    }

    /// The content of a request for a key of the vault.
    package struct VaultRequest: Sendable, Equatable {
        package let keyIdentifier: VaultKeyIdentifier
        /// 3 to 255 letters, digits, `_`, `-` or `.`.
        package let reason: String

        /// Creates a request.
        ///
        /// - Returns: `nil` for a reason of another form.
        package init?(keyIdentifier: VaultKeyIdentifier, reason: String) {
            guard VaultReason.isValid(reason) else { return nil }
            self.keyIdentifier = keyIdentifier
            self.reason = reason
        }
    }

    /// The content of the response to a request for a key of the vault.
    package struct VaultResponse: Sendable, Equatable {
        /// 32 bytes.
        package let vaultEncryptionKey: SecretBytes

        package init(vaultEncryptionKey: SecretBytes) { self.vaultEncryptionKey = vaultEncryptionKey }
    }

    /// Keys for an application's own data, derived from a key of the vault.
    package enum ApplicationVaultKey {
        /// The shortest key.
        package static let minimumByteCount = 16

        /// Returns the key of an index.
        ///
        /// - Throws: `invalidLength` for fewer than 16 bytes, and for a base that is not for applications.
        package static func derive(
            from base: SecretBytes,
            of identifier: VaultKeyIdentifier,
            index: UInt64,
            count: Int = 32
        ) throws(CryptoError) -> SecretBytes {
            guard count >= Self.minimumByteCount, let label = identifier.applicationKeyLabel else {
                throw CryptoError(.invalidLength)
            }
            return try KeyDerivation.derive(base, label: label, diversifier: index.bigEndianBytes, count: count)
        }
    }
}

extension Version4.ActivationKeys.Vault {
    /// Returns the key that a client requests.
    package func key(_ identifier: Version4.VaultKeyIdentifier) -> SecretBytes {
        switch identifier {
        case .devicePrivateKeys: self.devicePrivateKeys
        case .applicationKnowledge: self.applicationKnowledge
        case .applicationTwoFactor: self.applicationTwoFactor
        }
    }
}

extension Version4.VaultRequest: Codable {
    private enum CodingKeys: String, CodingKey {
        case keyIdentifier, reason
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let identifier = try container.decode(Version4.VaultKeyIdentifier.self, forKey: .keyIdentifier)
        let reason = try container.decode(String.self, forKey: .reason)
        guard let request = Self(keyIdentifier: identifier, reason: reason) else {
            throw DecodingError.dataCorruptedError(forKey: .reason, in: container, debugDescription: "not a reason")
        }
        self = request
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.keyIdentifier, forKey: .keyIdentifier)
        try container.encode(self.reason, forKey: .reason)
    }
}

extension Version4.VaultResponse: Codable {
    private enum CodingKeys: String, CodingKey {
        case vaultEncryptionKey
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.vaultEncryptionKey = try container.decodeSecret(count: 32, forKey: .vaultEncryptionKey)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeBase64(self.vaultEncryptionKey, forKey: .vaultEncryptionKey)
    }
}
