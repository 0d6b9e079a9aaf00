import PowerAuthCrypto

/// A key that requests are encrypted with, for a short time.
struct ServerTemporaryKey: Sendable {
    /// The key itself, in the form that a version of the protocol has for it.
    enum Material: Sendable {
        /// The key pair that clients encrypt for.
        case version3(P256PrivateKey)
        /// The secret that was agreed on.
        case version4(SecretBytes)
    }

    let id: String
    let material: Material
    let applicationKey: String
    /// `nil` in application scope.
    let activationID: String?
    let expires: Milliseconds
}

extension ServerTemporaryKey: Codable {
    private enum CodingKeys: CodingKey { case id, privateKey, sharedSecret, applicationKey, activationID, expires }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.id = try container.decode(String.self, forKey: .id)
        self.material =
            if let secret = try container.decodeIfPresent(ExportableSecret.self, forKey: .sharedSecret) {
                .version4(secret.secret)
            } else {
                .version3(
                    try P256PrivateKey(
                        scalar: container.decode(ExportableSecret.self, forKey: .privateKey).secret
                    )
                )
            }
        self.applicationKey = try container.decode(String.self, forKey: .applicationKey)
        self.activationID = try container.decodeIfPresent(String.self, forKey: .activationID)
        self.expires = try container.decode(Milliseconds.self, forKey: .expires)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.id, forKey: .id)
        switch self.material {
        case .version3(let key): try container.encode(ExportableSecret(key.scalar), forKey: .privateKey)
        case .version4(let secret): try container.encode(ExportableSecret(secret), forKey: .sharedSecret)
        }
        try container.encode(self.applicationKey, forKey: .applicationKey)
        try container.encodeIfPresent(self.activationID, forKey: .activationID)
        try container.encode(self.expires, forKey: .expires)
    }
}

extension Backend {
    /// Returns a key that can still be used, by the application and the activation that it was made for.
    func temporaryKey(
        _ id: String,
        of application: ServerApplication,
        _ activationID: String?,
        at now: Milliseconds
    ) throws(Refusal) -> ServerTemporaryKey {
        guard let key = self.state.temporaryKeys[id], key.expires > now, key.applicationKey == application.key,
            key.activationID == activationID
        else { throw .temporaryKey("the temporary key is unknown or has expired") }
        return key
    }

    /// Keeps a key until it expires.
    mutating func keep(_ key: ServerTemporaryKey, at time: Milliseconds) {
        let now = min(time, self.settledUntil)
        if self.state.temporaryKeys.count >= Self.temporaryKeyCapacity || now >= self.state.nextTemporaryKeySweep {
            self.state.temporaryKeys.removeAll { $0.expires <= now }
            self.state.nextTemporaryKeySweep = now + 60_000
        }
        if self.state.temporaryKeys.count >= Self.temporaryKeyCapacity {
            self.state.temporaryKeys.keepFirst(Self.temporaryKeyCapacity / 2) { $0.expires > $1.expires }
        }
        self.state.temporaryKeys[key.id] = key
    }

    /// Beyond this, the keys that expire first make room.
    private static var temporaryKeyCapacity: Int { 20_000 }
}
