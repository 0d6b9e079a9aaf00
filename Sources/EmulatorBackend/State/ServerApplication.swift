package import PowerAuthCrypto
package import PowerAuthProtocol

/// An application, with the key that signs what all its copies must trust.
package struct ServerApplication: Sendable {
    package let id: String
    package let key: String
    package let secret: ApplicationSecret
    package let masterKey: P256PrivateKey
}

extension ServerApplication: Codable, Identifiable {
    private enum CodingKeys: CodingKey { case id, key, secret, masterPrivateKey }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard let secret = ApplicationSecret(base64: try container.decode(String.self, forKey: .secret)) else {
            throw DecodingError.dataCorruptedError(forKey: .secret, in: container, debugDescription: "not 16 bytes")
        }
        self.id = try container.decode(String.self, forKey: .id)
        self.key = try container.decode(String.self, forKey: .key)
        self.secret = secret
        let masterKey = try container.decode(ExportableSecret.self, forKey: .masterPrivateKey)
        self.masterKey = try P256PrivateKey(scalar: masterKey.secret)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.id, forKey: .id)
        try container.encode(self.key, forKey: .key)
        try container.encode(self.secret.base64, forKey: .secret)
        try container.encode(ExportableSecret(self.masterKey.scalar), forKey: .masterPrivateKey)
    }
}
