/// An encrypted request in the body: JSON with Base64 values.
package struct ECIESRequest: Sendable, Equatable {
    /// The identifier of the temporary key; `nil` before version 3.3.
    package var temporaryKeyID: String?
    /// The point of the sender's ephemeral key, 33 or 65 bytes, authenticated as sent.
    package var ephemeralPublicKey: [UInt8]
    package var encryptedData: [UInt8]
    /// 32 bytes.
    package var mac: [UInt8]
    /// 16 bytes.
    package var nonce: [UInt8]
    /// Milliseconds since 1970; `nil` in version 3.1.
    package var timestamp: Int64?

    package init(
        temporaryKeyID: String?,
        ephemeralPublicKey: [UInt8],
        encryptedData: [UInt8],
        mac: [UInt8],
        nonce: [UInt8],
        timestamp: Int64?
    ) {
        self.temporaryKeyID = temporaryKeyID
        self.ephemeralPublicKey = ephemeralPublicKey
        self.encryptedData = encryptedData
        self.mac = mac
        self.nonce = nonce
        self.timestamp = timestamp
    }
}

/// An encrypted response in the body: unwrapped JSON with Base64 values.
package struct ECIESResponse: Sendable, Equatable {
    package var encryptedData: [UInt8]
    /// 32 bytes.
    package var mac: [UInt8]
    /// 16 bytes; `nil` in version 3.1, which reuses the request's nonce.
    package var nonce: [UInt8]?
    /// Milliseconds since 1970; `nil` in version 3.1.
    package var timestamp: Int64?

    package init(encryptedData: [UInt8], mac: [UInt8], nonce: [UInt8]?, timestamp: Int64?) {
        self.encryptedData = encryptedData
        self.mac = mac
        self.nonce = nonce
        self.timestamp = timestamp
    }
}

extension ECIESRequest: Codable {
    private enum CodingKeys: String, CodingKey {
        case temporaryKeyID = "temporaryKeyId"
        case ephemeralPublicKey, encryptedData, mac, nonce, timestamp
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.temporaryKeyID = try container.decodeIfPresent(String.self, forKey: .temporaryKeyID)
        self.ephemeralPublicKey = try container.decodeBase64(forKey: .ephemeralPublicKey)
        self.encryptedData = try container.decodeBase64(forKey: .encryptedData)
        self.mac = try container.decodeBase64(forKey: .mac)
        self.nonce = try container.decodeBase64(forKey: .nonce)
        self.timestamp = try container.decodeIfPresent(Int64.self, forKey: .timestamp)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(self.temporaryKeyID, forKey: .temporaryKeyID)
        try container.encodeBase64(self.ephemeralPublicKey, forKey: .ephemeralPublicKey)
        try container.encodeBase64(self.encryptedData, forKey: .encryptedData)
        try container.encodeBase64(self.mac, forKey: .mac)
        try container.encodeBase64(self.nonce, forKey: .nonce)
        try container.encodeIfPresent(self.timestamp, forKey: .timestamp)
    }
}

extension ECIESResponse: Codable {
    private enum CodingKeys: String, CodingKey {
        case encryptedData, mac, nonce, timestamp
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.encryptedData = try container.decodeBase64(forKey: .encryptedData)
        self.mac = try container.decodeBase64(forKey: .mac)
        self.nonce = try container.decodeBase64IfPresent(forKey: .nonce)
        self.timestamp = try container.decodeIfPresent(Int64.self, forKey: .timestamp)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeBase64(self.encryptedData, forKey: .encryptedData)
        try container.encodeBase64(self.mac, forKey: .mac)
        if let nonce = self.nonce { try container.encodeBase64(nonce, forKey: .nonce) }
        try container.encodeIfPresent(self.timestamp, forKey: .timestamp)
    }
}
