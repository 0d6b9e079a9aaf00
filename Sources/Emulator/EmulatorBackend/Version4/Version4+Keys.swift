import Basics
import PowerAuthCrypto
import PowerAuthProtocol

extension Version4 {
    /// The server's half of the exchanged keys, the factors' keys, and the counter.
    struct Keys: Sendable {
        let serverKeys: SigningPrivateKeys
        let deviceKeys: SigningPublicKeys
        private let activationSecret: SecretBytes
        /// Derived once from the secret.
        let derived: ActivationKeys
        /// The keys for verifying codes.
        var factorKeys: ServerFactorKeys
        /// The counter of the next code.
        private(set) var counter: HashCounter
        private(set) var steps: UInt64
        /// For the diagnosis of an outdated code; lost with the process.
        private var past = PastCounters<HashCounter>()
        /// Indicates whether the device still has to confirm the activation.
        var awaitsConfirmation: Bool

        /// The activation's permanent suite.
        var suite: AlgorithmSuite { self.deviceKeys.suite }

        init(
            serverKeys: SigningPrivateKeys,
            deviceKeys: SigningPublicKeys,
            activationSecret: SecretBytes,
            counter: SecretBytes,
            steps: UInt64 = 0,
            awaitsConfirmation: Bool
        ) throws(CryptoError) {
            self.serverKeys = serverKeys
            self.deviceKeys = deviceKeys
            self.activationSecret = activationSecret
            self.derived = try ActivationKeys(activationSecret: activationSecret)
            self.factorKeys = ServerFactorKeys(
                possession: self.derived.possession,
                knowledge: ReplaceableKey(current: self.derived.knowledge),
                biometry: ReplaceableKey(current: nil)
            )
            self.counter = HashCounter(data: counter, byte: UInt8(truncatingIfNeeded: steps))
            self.steps = steps
            self.awaitsConfirmation = awaitsConfirmation
        }

        /// Turns biometry on with the key derived together with the others.
        mutating func enableDerivedBiometry() {
            self.factorKeys.biometry = ReplaceableKey(current: self.derived.biometry)
        }
    }
}

extension Version4.Keys: DeviceKeys {
    var versionName: String { Version4.name }

    func fingerprint(activationID: String) -> String {
        Version4.ActivationFingerprint(
            devicePublicKeys: self.deviceKeys,
            activationID: activationID,
            serverPublicKeys: self.serverKeys.publicKeys
        ).digits
    }

    /// Returns a tag only for this activation.
    func offlineSignature(of lines: String) throws -> String {
        let digit = String(decoding: [Version4.OfflineQRMAC.keyDigit], as: UTF8.self)
        let tag = try Version4.OfflineQRMAC.tag(
            of: Array((lines + digit).utf8),
            key: self.derived.utility.personalizedData
        )
        return digit + Base64.encode(tag)
    }

    mutating func verify(_ code: CodeToVerify, lookAhead: Int) -> CodeVerdict {
        guard let type = Version4.AuthenticationCodeType(rawValue: code.type.rawValue) else {
            return .notJudged("version 4 has no codes of type \(code.type.rawValue)")
        }
        let verifier = Version4.AuthenticationCodeVerifier(
            keys: self.factorKeys,
            counter: self.counter,
            lookAhead: lookAhead
        )
        do {
            switch try verifier.verify(code, of: type) {
            case .accepted(let match):
                self.factorKeys = match.keys
                self.past.note(self.counter, movedBy: match.offset + 1)
                self.counter = match.nextCounter
                self.steps = self.steps.addingSaturated(UInt64(match.offset) + 1)
                return .accepted
            case .biometryIsOff:
                return .notJudged("biometry is off")
            case .refused:
                return .refused
            }
        } catch {
            return .notJudged("\(error)")
        }
    }

    func diagnosis(of code: CodeToVerify, lookAhead: Int) -> CodeDiagnosis {
        CodeDiagnosis(
            of: "code",
            by: code.type.factors,
            candidates: self.candidates(for: code.type),
            counter: self.counter,
            past: self.past,
            lookAhead: lookAhead
        ) { keys, counter in
            let expected = try? Version4.AuthenticationCode(
                code.data,
                keys: keys,
                counter: counter,
                secret: code.secret
            )
            return expected.map { expected in
                let length = Version4.AuthenticationCode.componentByteCount
                return code.compare(online: expected.onlineBytes, length: length) {
                    expected.offline(componentLength: $0)
                }
            }
        }
    }

    /// Returns the possible keys of a code: a key and its pending replacement are both valid.
    private func candidates(for type: SignatureType) -> [CodeDiagnosis.Candidate] {
        let factor: Version4.ReplaceableKey
        switch type {
        case .possession: return [.init(name: "current key", keys: [self.factorKeys.possession])]
        case .possessionKnowledge: factor = self.factorKeys.knowledge
        case .possessionBiometry: factor = self.factorKeys.biometry
        case .knowledge, .biometry, .possessionKnowledgeBiometry: return []
        }
        return [("current key", factor.current), ("pending key", factor.pending)].compactMap { name, key in
            key.map { CodeDiagnosis.Candidate(name: name, keys: [self.factorKeys.possession, $0]) }
        }
    }

    mutating func advance(by steps: Int) {
        self.past.note(self.counter, movedBy: steps)
        self.counter = self.counter.advanced(by: steps)
        self.steps = self.steps.addingSaturated(UInt64(steps))
    }

    func numbered(_ steps: UInt64) -> Self {
        var keys = self
        keys.counter = Version4.HashCounter(data: self.counter.data, byte: UInt8(truncatingIfNeeded: steps))
        keys.steps = steps
        return keys
    }
}

extension Version4.AuthenticationCodeVerifier {
    fileprivate func verify(
        _ code: CodeToVerify,
        of type: Version4.AuthenticationCodeType
    ) throws(CryptoError) -> Outcome {
        switch code.form {
        case .online(let bytes, let secret):
            try self.verify(online: bytes, of: type, for: code.data, secret: .online(secret))
        case .offline(let shown, let digits):
            try self.verify(offline: shown, of: type, for: code.data, componentLength: digits)
        }
    }
}

// MARK: - Exported state

extension Version4.Keys: Codable {
    private enum CodingKeys: CodingKey {
        case version, suite, serverPrivateKeys, devicePublicKeys, activationSecret, counterData, counter
        case knowledge, biometry, awaitsConfirmation
    }

    private struct PrivateKeys: Codable {
        let ecdsa: ExportableSecret
        let mldsa: ExportableSecret?
    }

    private struct FactorKey: Codable {
        let current: ExportableSecret?
        let pending: ExportableSecret?

        init(_ key: Version4.ReplaceableKey) {
            self.current = key.current.map(ExportableSecret.init)
            self.pending = key.pending.map(ExportableSecret.init)
        }

        var key: Version4.ReplaceableKey {
            Version4.ReplaceableKey(current: self.current?.secret, pending: self.pending?.secret)
        }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let suite = try container.decode(AlgorithmSuite.self, forKey: .suite)
        let privateKeys = try container.decode(PrivateKeys.self, forKey: .serverPrivateKeys)
        try self.init(
            serverKeys: Version4.SigningPrivateKeys(
                suite: suite,
                ecdsa: P384PrivateKey(scalar: privateKeys.ecdsa.secret),
                mldsaSeed: privateKeys.mldsa?.secret ?? SecretBytes(copying: [])
            ),
            deviceKeys: container.decode(Version4.SigningKeysMessage.self, forKey: .devicePublicKeys).keys(of: suite),
            activationSecret: container.decode(ExportableSecret.self, forKey: .activationSecret).secret,
            counter: container.decode(ExportableSecret.self, forKey: .counterData).secret,
            steps: container.decode(UInt64.self, forKey: .counter),
            awaitsConfirmation: container.decode(Bool.self, forKey: .awaitsConfirmation)
        )
        self.factorKeys.knowledge = try container.decode(FactorKey.self, forKey: .knowledge).key
        self.factorKeys.biometry = try container.decode(FactorKey.self, forKey: .biometry).key
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.versionName, forKey: .version)
        try container.encode(self.suite, forKey: .suite)
        let privateKeys = PrivateKeys(
            ecdsa: ExportableSecret(self.serverKeys.ecdsa.scalar),
            mldsa: self.serverKeys.mldsa.map { ExportableSecret($0.seed) }
        )
        try container.encode(privateKeys, forKey: .serverPrivateKeys)
        try container.encode(Version4.SigningKeysMessage(self.deviceKeys), forKey: .devicePublicKeys)
        try container.encode(ExportableSecret(self.activationSecret), forKey: .activationSecret)
        try container.encode(ExportableSecret(self.counter.data), forKey: .counterData)
        try container.encode(self.steps, forKey: .counter)
        try container.encode(FactorKey(self.factorKeys.knowledge), forKey: .knowledge)
        try container.encode(FactorKey(self.factorKeys.biometry), forKey: .biometry)
        try container.encode(self.awaitsConfirmation, forKey: .awaitsConfirmation)
    }
}
