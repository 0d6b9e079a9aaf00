extension Version4 {
    /// An encrypted request in the body.
    package struct EncryptedRequest: Sendable, Equatable {
        /// The allowed difference between a request's timestamp and the server's time, in milliseconds.
        package static let timestampTolerance: Int64 = 300_000

        package var temporaryKeyID: String
        /// Nonce, tag and ciphertext.
        package var encryptedData: [UInt8]
        /// 24 bytes, shared by request and response.
        package var nonce: [UInt8]
        /// Milliseconds since 1970.
        package var timestamp: Int64

        package init(temporaryKeyID: String, encryptedData: [UInt8], nonce: [UInt8], timestamp: Int64) {
            self.temporaryKeyID = temporaryKeyID
            self.encryptedData = encryptedData
            self.nonce = nonce
            self.timestamp = timestamp
        }

        /// Returns whether the timestamp is within five minutes of `now`, in milliseconds since 1970.
        package func isFresh(at now: Int64) -> Bool {
            let (distance, overflow) = self.timestamp.subtractingReportingOverflow(now)
            return !overflow && distance.magnitude <= Self.timestampTolerance.magnitude
        }
    }

    /// An encrypted response in the body, unwrapped.
    package struct EncryptedResponse: Sendable, Equatable {
        /// Nonce, tag and ciphertext.
        package var encryptedData: [UInt8]
        /// Milliseconds since 1970.
        package var timestamp: Int64

        package init(encryptedData: [UInt8], timestamp: Int64) {
            self.encryptedData = encryptedData
            self.timestamp = timestamp
        }
    }
}

extension Version4.EncryptedRequest: Codable {
    private enum CodingKeys: String, CodingKey {
        case temporaryKeyID = "temporaryKeyId"
        case encryptedData, nonce, timestamp
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.temporaryKeyID = try container.decode(String.self, forKey: .temporaryKeyID)
        self.encryptedData = try container.decodeBase64(forKey: .encryptedData)
        self.nonce = try container.decodeBase64(forKey: .nonce)
        self.timestamp = try container.decode(Int64.self, forKey: .timestamp)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.temporaryKeyID, forKey: .temporaryKeyID)
        try container.encodeBase64(self.encryptedData, forKey: .encryptedData)
        try container.encodeBase64(self.nonce, forKey: .nonce)
        try container.encode(self.timestamp, forKey: .timestamp)
    }
}

extension Version4.EncryptedResponse: Codable {
    private enum CodingKeys: String, CodingKey {
        case encryptedData, timestamp
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.encryptedData = try container.decodeBase64(forKey: .encryptedData)
        self.timestamp = try container.decode(Int64.self, forKey: .timestamp)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeBase64(self.encryptedData, forKey: .encryptedData)
        try container.encode(self.timestamp, forKey: .timestamp)
    }
}
