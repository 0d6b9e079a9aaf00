import PowerAuthCrypto

extension Version4 {
    /// The client's half of a key agreement: public keys for encapsulating secrets, a P-384 point and in a hybrid suite an ML-KEM
    /// key.
    package struct SharedSecretRequest: Sendable, Equatable {
        package let suite: AlgorithmSuite
        package let encapsulationKeys: [[UInt8]]

        /// - Throws: `malformed` unless number and lengths of keys match the suite.
        package init(suite: AlgorithmSuite, encapsulationKeys: [[UInt8]]) throws(SharedSecretError) {
            guard encapsulationKeys.map(\.count) == suite.encapsulationKeyByteCounts else {
                throw .malformed(member: "encapsulationKeys")
            }
            self.suite = suite
            self.encapsulationKeys = encapsulationKeys
        }
    }

    /// The server's half of a key agreement.
    package struct SharedSecretResponse: Sendable, Equatable {
        package static let saltByteCount = 32

        /// 32 random bytes.
        package let salt: [UInt8]
        /// The ephemeral point and, in a hybrid suite, the ML-KEM ciphertext.
        package let encapsulatedKeys: [[UInt8]]

        package init(salt: [UInt8], encapsulatedKeys: [[UInt8]]) {
            self.salt = salt
            self.encapsulatedKeys = encapsulatedKeys
        }
    }
}

extension AlgorithmSuite {
    /// The lengths of the client's keys.
    var encapsulationKeyByteCounts: [Int] {
        [DHKEM384.encapsulatedByteCount, self.keyEncapsulation?.algorithm.publicKeyInfoByteCount].compactMap(\.self)
    }

    /// The lengths of the server's encapsulated keys.
    var encapsulatedKeyByteCounts: [Int] {
        [DHKEM384.encapsulatedByteCount, self.keyEncapsulation?.algorithm.outputByteCount].compactMap(\.self)
    }
}

extension Version4.SharedSecretRequest: Codable {
    private enum CodingKeys: String, CodingKey {
        case suite = "algorithm"
        case encapsulationKeys
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try self.init(
            suite: container.decode(AlgorithmSuite.self, forKey: .suite),
            encapsulationKeys: container.decodeBase64List(forKey: .encapsulationKeys)
        )
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.suite, forKey: .suite)
        try container.encode(self.encapsulationKeys.map { Base64.encode($0) }, forKey: .encapsulationKeys)
    }
}

extension Version4.SharedSecretResponse: Codable {
    private enum CodingKeys: String, CodingKey {
        case salt, encapsulatedKeys
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.salt = try container.decodeBase64(forKey: .salt)
        self.encapsulatedKeys = try container.decodeBase64List(forKey: .encapsulatedKeys)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeBase64(self.salt, forKey: .salt)
        try container.encode(self.encapsulatedKeys.map { Base64.encode($0) }, forKey: .encapsulatedKeys)
    }
}
