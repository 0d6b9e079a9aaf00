import Basics
import PowerAuthCrypto
import PowerAuthProtocol

extension Version3 {
    /// The server's half of the exchanged keys, with the counter.
    struct Keys: Sendable {
        /// The protocol version of the activation.
        let version: ProtocolVersion
        let serverKey: P256PrivateKey
        let deviceKey: P256PublicKey
        /// Derived once, for verifying signatures.
        let derived: ActivationKeys
        /// The counter of the next signature.
        private(set) var counter: HashCounter
        private(set) var steps: UInt64
        /// For the diagnosis of an outdated code; lost with the process.
        private var past = PastCounters<HashCounter>()

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
            self.derived = try ActivationKeys(privateKey: serverKey, publicKey: deviceKey)
            self.counter = HashCounter(data: counter, byte: UInt8(truncatingIfNeeded: steps))
            self.steps = steps
        }
    }
}

extension Version3.Keys: DeviceKeys {
    var versionName: String { self.version.rawValue }

    func fingerprint(activationID: String) -> String {
        ActivationFingerprint(
            devicePublicKey: self.deviceKey,
            activationID: activationID,
            serverPublicKey: self.serverKey.publicKey
        ).digits
    }

    /// Returns a signature with the activation's server key.
    func offlineSignature(of lines: String) throws -> String {
        "1" + Base64.encode(try self.serverKey.derSignature(for: Array("\(lines)1".utf8)))
    }

    mutating func verify(_ code: CodeToVerify, lookAhead: Int) -> CodeVerdict {
        guard let match = self.match(code, lookAhead: lookAhead) else { return .refused }
        self.past.note(self.counter, movedBy: match.offset + 1)
        self.counter = match.nextCounter
        self.steps = self.steps.addingSaturated(UInt64(match.offset) + 1)
        return .accepted
    }

    private func match(_ code: CodeToVerify, lookAhead: Int) -> SignatureVerifier.Match? {
        let keys = self.derived.keys(for: code.type)
        switch code.form {
        case .online(let signature, let secret):
            return SignatureVerifier(code.data, keys: keys, secret: .online(secret))
                .match(online: signature, counter: self.counter, lookAhead: lookAhead)
        case .offline(let shown, let digits):
            return SignatureVerifier(code.data, keys: keys, secret: .offline)
                .match(offline: shown, counter: self.counter, componentLength: digits, lookAhead: lookAhead)
        }
    }

    func diagnosis(of code: CodeToVerify, lookAhead: Int) -> CodeDiagnosis {
        CodeDiagnosis(
            of: "signature",
            by: code.type.factors,
            candidates: [.init(name: nil, keys: self.derived.keys(for: code.type))],
            counter: self.counter,
            past: self.past,
            lookAhead: lookAhead
        ) { keys, counter in
            let expected = RequestSignature(code.data, keys: keys, counter: counter, secret: code.secret)
            let length = expected.onlineBytes.count / max(keys.count, 1)
            return code.compare(online: expected.onlineBytes, length: length) { expected.offline(componentLength: $0) }
        }
    }

    mutating func advance(by steps: Int) {
        self.past.note(self.counter, movedBy: steps)
        self.counter = self.counter.advanced(by: steps)
        self.steps = self.steps.addingSaturated(UInt64(steps))
    }

    func numbered(_ steps: UInt64) -> Self {
        var keys = self
        keys.counter = HashCounter(data: self.counter.data, byte: UInt8(truncatingIfNeeded: steps))
        keys.steps = steps
        return keys
    }
}

extension Version3.Keys: Codable {
    private enum CodingKeys: CodingKey { case version, serverPrivateKey, devicePublicKey, counterData, counter }

    init(from decoder: any Decoder) throws {
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

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.version, forKey: .version)
        try container.encode(ExportableSecret(self.serverKey.scalar), forKey: .serverPrivateKey)
        try container.encode(Base64.encode(self.deviceKey.compressed), forKey: .devicePublicKey)
        try container.encode(ExportableSecret(self.counter.data), forKey: .counterData)
        try container.encode(self.steps, forKey: .counter)
    }
}
