import MobileTokenCloud
package import PowerAuthCrypto
package import PowerAuthProtocol

/// An application, with the keys that sign what all its instances must trust.
package struct ServerApplication: Sendable {
    package let id: String
    package let key: String
    package let secret: ApplicationSecret
    /// The master key of version 3.
    package let masterKey: P256PrivateKey
    let version4Keys: Version4.MasterKeys
    /// The application's roles at the bank.
    let roles: [String]
    /// The secure configuration.
    var configurationEntries: [CloudAPI.ConfigurationEntry] = []

    init(
        id: String,
        key: String,
        secret: ApplicationSecret,
        masterKey: P256PrivateKey,
        roles: [String] = []
    ) throws(CryptoError) {
        self.roles = roles
        self.id = id
        self.key = key
        self.secret = secret
        self.masterKey = masterKey
        self.version4Keys = try Version4.MasterKeys(derivedFrom: masterKey.scalar)
    }

    /// Returns an ECDSA signature that devices of a version trust.
    func masterSignature(of message: [UInt8], _ version: MajorVersion) throws(CryptoError) -> [UInt8] {
        switch version {
        case .version3: try self.masterKey.derSignature(for: message)
        case .version4: try self.version4Keys.ecdsa.derSignature(for: message)
        }
    }

    /// Returns a client's configuration for a release: official clients of releases without version 4 refuse its keys.
    package func configuration(of profile: EmulatorServerProfile) -> SDKConfiguration {
        SDKConfiguration(
            applicationKey: self.key,
            applicationSecret: self.secret,
            masterPublicKey: self.masterKey.publicKey,
            version4MasterPublicKeys: profile.servesVersion4 ? self.version4Keys.publicKeys : nil
        )
    }
}

extension ServerApplication: Codable, Identifiable {
    private enum CodingKeys: CodingKey { case id, key, secret, masterPrivateKey, roles, configuration }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard let secret = ApplicationSecret(base64: try container.decode(String.self, forKey: .secret)) else {
            throw DecodingError.dataCorruptedError(forKey: .secret, in: container, debugDescription: "not 16 bytes")
        }
        let masterKey = try container.decode(ExportableSecret.self, forKey: .masterPrivateKey)
        try self.init(
            id: container.decode(String.self, forKey: .id),
            key: container.decode(String.self, forKey: .key),
            secret: secret,
            masterKey: P256PrivateKey(scalar: masterKey.secret),
            roles: container.decodeIfPresent([String].self, forKey: .roles) ?? []
        )
        self.configurationEntries =
            try container.decodeIfPresent([CloudAPI.ConfigurationEntry].self, forKey: .configuration) ?? []
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.id, forKey: .id)
        try container.encode(self.key, forKey: .key)
        try container.encode(self.secret.base64, forKey: .secret)
        try container.encode(ExportableSecret(self.masterKey.scalar), forKey: .masterPrivateKey)
        if !self.roles.isEmpty { try container.encode(self.roles, forKey: .roles) }
        guard !self.configurationEntries.isEmpty else { return }
        try container.encode(self.configurationEntries, forKey: .configuration)
    }
}
