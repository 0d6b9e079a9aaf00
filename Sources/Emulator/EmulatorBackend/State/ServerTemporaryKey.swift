import PowerAuthCrypto

/// A short-lived encryption key for requests.
struct ServerTemporaryKey: Sendable {
    /// The key in the form of its protocol version.
    enum Material: Sendable {
        /// The key pair that clients encrypt for.
        case version3(P256PrivateKey)
        /// The agreed secret.
        case version4(SecretBytes)
    }

    let id: String
    let material: Material
    let applicationKey: String
    /// The activation; `nil` in application scope.
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
    /// Returns an unexpired key of the given application and activation.
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

    /// Stores a key until it expires.
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

    /// The maximum number of keys; beyond it, those that expire first are dropped.
    private static var temporaryKeyCapacity: Int { 20_000 }
}
