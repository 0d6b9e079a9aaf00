package import PowerAuthCrypto

extension Version4 {
    /// The content of a token response. The request's content is `{}`.
    package struct TokenResponse: Sendable, Equatable {
        package static let secretByteCount = 32

        package let tokenID: String
        /// 32 bytes.
        package let tokenSecret: SecretBytes

        package init(tokenID: String, tokenSecret: SecretBytes) {
            self.tokenID = tokenID
            self.tokenSecret = tokenSecret
        }
    }
}

extension Version4.TokenResponse: Codable {
    private enum CodingKeys: String, CodingKey {
        case tokenID = "tokenId"
        case tokenSecret
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.tokenID = try container.decode(String.self, forKey: .tokenID)
        self.tokenSecret = try container.decodeSecret(count: Self.secretByteCount, forKey: .tokenSecret)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.tokenID, forKey: .tokenID)
        try container.encodeBase64(self.tokenSecret, forKey: .tokenSecret)
    }
}
