import Basics
package import PowerAuthCrypto
package import PowerAuthProtocol

/// What the exchange of keys left on the server: its half of the keys, and the counter.
package struct DeviceBinding: Sendable {
    /// The version the device activated with.
    package let version: ProtocolVersion
    package let serverKey: P256PrivateKey
    package let deviceKey: P256PublicKey
    /// Derived once: a signature is verified with them, not with the keys above.
    package let keys: ActivationKeys
    /// The counter of the next signature.
    package private(set) var counter: HashCounter
    /// How often it has moved. The wire knows it modulo 256; the journal shows it whole.
    package private(set) var steps: UInt64

    init(
        version: ProtocolVersion,
        serverKey: P256PrivateKey,
        deviceKey: P256PublicKey,
        counter: SecretBytes,
        steps: UInt64 = 0
    ) throws(CryptoError) {
        self.version = version
        self.serverKey = serverKey
        self.deviceKey = deviceKey
        self.keys = try ActivationKeys(privateKey: serverKey, publicKey: deviceKey)
        self.counter = HashCounter(data: counter, byte: UInt8(truncatingIfNeeded: steps))
        self.steps = steps
    }

    /// Takes over the counter after a signature that was right.
    mutating func accept(_ match: SignatureVerifier.Match) {
        self.counter = match.nextCounter
        self.steps = self.steps.addingSaturated(UInt64(match.offset) + 1)
    }

    mutating func advance(by steps: Int) {
        self.counter = self.counter.advanced(by: steps)
        self.steps = self.steps.addingSaturated(UInt64(steps))
    }
}

extension DeviceBinding: Codable {
    private enum CodingKeys: CodingKey { case version, serverPrivateKey, devicePublicKey, counterData, counter }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let deviceKey = Base64.decode(try container.decode(String.self, forKey: .devicePublicKey)) ?? []
        try self.init(
            version: container.decode(ProtocolVersion.self, forKey: .version),
            serverKey: P256PrivateKey(
                scalar: container.decode(ExportableSecret.self, forKey: .serverPrivateKey).secret
            ),
            deviceKey: P256PublicKey(x963: deviceKey),
            counter: container.decode(ExportableSecret.self, forKey: .counterData).secret,
            steps: container.decode(UInt64.self, forKey: .counter)
        )
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.version, forKey: .version)
        try container.encode(ExportableSecret(self.serverKey.scalar), forKey: .serverPrivateKey)
        try container.encode(Base64.encode(self.deviceKey.compressed), forKey: .devicePublicKey)
        try container.encode(ExportableSecret(self.counter.data), forKey: .counterData)
        try container.encode(self.steps, forKey: .counter)
    }
}
