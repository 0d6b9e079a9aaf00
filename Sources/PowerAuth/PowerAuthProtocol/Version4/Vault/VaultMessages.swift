import Basics
package import PowerAuthCrypto

extension Version4 {
    package enum VaultKeyIdentifier: String, Sendable, Codable, CaseIterable {
        /// Encrypts the device's private keys.
        case devicePrivateKeys = "KEK_DEVICE_PRIVATE"
        /// The base of application keys for the password only.
        case applicationKnowledge = "KDK_APP_VAULT_KNOWLEDGE"
        /// The base of application keys for either pair of factors.
        case applicationTwoFactor = "KDK_APP_VAULT_2FA"

        /// The code types for which a server provides the key. A server may forbid biometry for the device's private keys.
        package var allowedTypes: Set<AuthenticationCodeType> {
            switch self {
            case .applicationKnowledge: [.possessionKnowledge]
            case .devicePrivateKeys, .applicationTwoFactor: [.possessionKnowledge, .possessionBiometry]
            }
        }

        /// The label of derived application keys; `nil` for the key of the device's keys.
        fileprivate var applicationKeyLabel: String? {
            switch self {
            case .devicePrivateKeys: nil
            case .applicationKnowledge: "app/kdf/knowledge"
            case .applicationTwoFactor: "app/kdf/2fa"
            }
        }
    }

    /// The content of a request for a vault key.
    package struct VaultRequest: Sendable, Equatable {
        package let keyIdentifier: VaultKeyIdentifier
        /// 3 to 198 letters, digits, `_`, `-` or `.`.
        package let reason: String

        /// - Returns: `nil` for an invalid reason.
        package init?(keyIdentifier: VaultKeyIdentifier, reason: String) {
            guard VaultReason.isValid(reason) else { return nil }
            self.keyIdentifier = keyIdentifier
            self.reason = reason
        }
    }

    /// The content of the response to a request for a vault key.
    package struct VaultResponse: Sendable, Equatable {
        /// 32 bytes.
        package let vaultEncryptionKey: SecretBytes

        package init(vaultEncryptionKey: SecretBytes) { self.vaultEncryptionKey = vaultEncryptionKey }
    }

    /// Keys for an application's own data, derived from a vault key.
    package enum ApplicationVaultKey {
        package static let minimumByteCount = 16

        /// Returns the key with an index.
        ///
        /// - Throws: `invalidLength` for fewer than 16 bytes or a base that is not for applications.
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
