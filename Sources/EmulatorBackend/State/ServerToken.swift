package import PowerAuthCrypto
package import PowerAuthProtocol

/// A token: stands for the factors it was created with, until it is removed.
struct ServerToken: Sendable, Codable, Equatable {
    let id: String
    let secret: ExportableSecret
    let activationID: String
    let factors: SignatureType
    let created: Milliseconds
}

/// A key pair that requests are encrypted for, for a short time.
struct ServerTemporaryKey: Sendable {
    let id: String
    let privateKey: P256PrivateKey
    let applicationKey: String
    /// `nil` in application scope.
    let activationID: String?
    let expires: Milliseconds
}

extension ServerTemporaryKey: Codable {
    private enum CodingKeys: CodingKey { case id, privateKey, applicationKey, activationID, expires }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.id = try container.decode(String.self, forKey: .id)
        let privateKey = try container.decode(ExportableSecret.self, forKey: .privateKey)
        self.privateKey = try P256PrivateKey(scalar: privateKey.secret)
        self.applicationKey = try container.decode(String.self, forKey: .applicationKey)
        self.activationID = try container.decodeIfPresent(String.self, forKey: .activationID)
        self.expires = try container.decode(Milliseconds.self, forKey: .expires)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.id, forKey: .id)
        try container.encode(ExportableSecret(self.privateKey.scalar), forKey: .privateKey)
        try container.encode(self.applicationKey, forKey: .applicationKey)
        try container.encodeIfPresent(self.activationID, forKey: .activationID)
        try container.encode(self.expires, forKey: .expires)
    }
}

/// A recovery code with the one PUK that goes with it.
package struct RecoveryCode: Sendable, Codable, Equatable {
    enum Status: String, Sendable, Codable {
        case created = "CREATED"
        case active = "ACTIVE"
        case blocked = "BLOCKED"
        case used = "USED"
    }

    static let maximumFailures = 5

    package let code: String
    package let puk: String
    let userID: String
    let applicationID: String
    /// The activation that it was handed out to.
    let activationID: String
    var status: Status
    var failures = 0
}

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
