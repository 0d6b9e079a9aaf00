import Basics
import PowerAuthCrypto
import PowerAuthProtocol

extension RecordFields {
    private enum Version4Name {
        static let suite: ExactString = "suite"
        static let deviceECDSAKey: ExactString = "device-ecdsa-key"
        static let deviceMLDSAKey: ExactString = "device-mldsa-key"
        static let serverECDSAKey: ExactString = "server-ecdsa-key"
        static let serverMLDSAKey: ExactString = "server-mldsa-key"
        static let knowledgeSalt: ExactString = "knowledge-salt"
        static let otherKnowledgeSalt: ExactString = "other-knowledge-salt"

        static let possessionKey: ExactString = "possession-key"
        static let utilityKeys: ExactString = "utility-keys"
        static let knowledgeKey: ExactString = "knowledge-key"
        static let otherKnowledgeKey: ExactString = "other-knowledge-key"
        static let biometryKey: ExactString = "biometry-key"
        static let otherBiometryKey: ExactString = "other-biometry-key"
        static let deviceKeys: ExactString = "device-private-keys"
        /// The prefix for the fields of the former version 3 activation.
        static let upgradedPrefix = "version3:"
    }

    private enum Pending {
        static let activation = Array("activation".utf8)
        static let upgrade = SealedActivation.upgradeMark.bytes
    }

    static var unknownStep: MobileTokenError {
        MobileTokenError(.storeFromFuture, "An activation waits for a step that is not known here")
    }

    static let version4Names: VersionNames = {
        var names = VersionNames(
            open: [
                Version4Name.suite, Version4Name.deviceECDSAKey, Version4Name.deviceMLDSAKey,
                Version4Name.serverECDSAKey, Version4Name.serverMLDSAKey, Version4Name.knowledgeSalt,
                Version4Name.otherKnowledgeSalt,
            ],
            secret: [
                Version4Name.possessionKey, Version4Name.utilityKeys, Version4Name.knowledgeKey,
                Version4Name.otherKnowledgeKey, Version4Name.biometryKey, Version4Name.otherBiometryKey,
                Version4Name.deviceKeys,
            ]
        )
        let upgraded = version3Names.prefixed(Version4Name.upgradedPrefix, and: Name.version, Name.counter)
        names.open.formUnion(upgraded.open)
        names.secret.formUnion(upgraded.secret)
        return names
    }()

    mutating func write(_ keys: Version4Keys) {
        self.open[Name.version] = Array(ProtocolVersion.v4_0.rawValue.utf8)
        self.open[Version4Name.suite] = Array(keys.suite.rawValue.utf8)
        self.open[Version4Name.deviceECDSAKey] = keys.devicePublicKeys.ecdsa
        self.open[Version4Name.deviceMLDSAKey] = keys.devicePublicKeys.mldsa
        self.open[Version4Name.serverECDSAKey] = keys.serverPublicKeys.ecdsa
        self.open[Version4Name.serverMLDSAKey] = keys.serverPublicKeys.mldsa
        self.open[Version4Name.knowledgeSalt] = keys.knowledgeKey.salt
        self.secret[Version4Name.possessionKey] = keys.possessionKey
        self.secret[Version4Name.utilityKeys] = Self.bytes(of: keys.utility)
        self.secret[Version4Name.knowledgeKey] = SecretBytes(copying: keys.knowledgeKey.wrappedKey)
        self.open[Version4Name.otherKnowledgeSalt] = keys.otherKnowledgeKey?.salt
        self.secret[Version4Name.otherKnowledgeKey] = keys.otherKnowledgeKey.map { SecretBytes(copying: $0.wrappedKey) }
        self.secret[Version4Name.biometryKey] = keys.wrappedBiometryKey
        self.secret[Version4Name.otherBiometryKey] = keys.otherBiometryKey
        self.secret[Version4Name.deviceKeys] = keys.sealedDeviceKeys
        switch keys.pendingConfirmation {
        case nil: break
        case .activation: self.open[Name.pendingConfirmation] = Pending.activation
        case .upgrade(let state):
            self.open[Name.pendingConfirmation] = Pending.upgrade
            self.write(state)
        }
    }

    func version4Keys() throws -> Version4Keys {
        guard let suite = AlgorithmSuite(rawValue: try self.string(Version4Name.suite)) else {
            throw MobileTokenError(.storeFromFuture, "This version does not know the suite of a stored activation")
        }
        var keys = Version4Keys(
            suite: suite,
            devicePublicKeys: Version4.SigningKeysMessage(
                ecdsa: try self.bytes(Version4Name.deviceECDSAKey),
                mldsa: self.open[Version4Name.deviceMLDSAKey]
            ),
            serverPublicKeys: Version4.SigningKeysMessage(
                ecdsa: try self.bytes(Version4Name.serverECDSAKey),
                mldsa: self.open[Version4Name.serverMLDSAKey]
            ),
            possessionKey: try self.secretBytes(Version4Name.possessionKey),
            utility: try self.utilityKeys(),
            knowledgeKey: Version4.ProtectedKnowledgeKey(
                salt: try self.bytes(Version4Name.knowledgeSalt),
                wrappedKey: try self.secretBytes(Version4Name.knowledgeKey).withUnsafeBytes { Array($0) }
            ),
            wrappedBiometryKey: self.secret[Version4Name.biometryKey],
            sealedDeviceKeys: try self.secretBytes(Version4Name.deviceKeys),
            pendingConfirmation: try self.pendingConfirmation()
        )
        if self.open[Version4Name.otherKnowledgeSalt] != nil {
            keys.otherKnowledgeKey = Version4.ProtectedKnowledgeKey(
                salt: try self.bytes(Version4Name.otherKnowledgeSalt),
                wrappedKey: try self.secretBytes(Version4Name.otherKnowledgeKey).withUnsafeBytes { Array($0) }
            )
        }
        keys.otherBiometryKey = self.secret[Version4Name.otherBiometryKey]
        return keys
    }

    private func pendingConfirmation() throws -> Version4Keys.PendingConfirmation? {
        switch self.open[Name.pendingConfirmation] {
        case nil: nil
        case Pending.activation: .activation
        case Pending.upgrade: .upgrade(from: try self.version3State())
        default: throw Self.unknownStep
        }
    }
}

// The keys shared with the server, 32 bytes each, concatenated.
extension RecordFields {
    private static let keyByteCount = Version4.ActivationKeys.byteCount

    private static func bytes(of keys: Version4.ActivationKeys.Utility) -> SecretBytes {
        let parts = [
            keys.counterHash, keys.status, keys.temporaryKeyRequest, keys.personalizedData, keys.sharedInfo2,
            keys.application,
        ]
        return SecretBytes(count: parts.count * self.keyByteCount) { target in
            for (index, part) in parts.enumerated() {
                let place = UnsafeMutableRawBufferPointer(rebasing: target[(index * self.keyByteCount)...])
                part.withUnsafeBytes { place.copyBytes(from: $0.prefix(self.keyByteCount)) }
            }
        }
    }

    private func utilityKeys() throws -> Version4.ActivationKeys.Utility {
        let parts = try self.secretBytes(Version4Name.utilityKeys).withUnsafeBytes { bytes in
            guard bytes.count == 6 * Self.keyByteCount else {
                throw MobileTokenError.damaged(Version4Name.utilityKeys.string)
            }
            return stride(from: 0, to: bytes.count, by: Self.keyByteCount).map {
                SecretBytes(copying: bytes[$0..<$0 + Self.keyByteCount])
            }
        }
        return Version4.ActivationKeys.Utility(
            counterHash: parts[0],
            status: parts[1],
            temporaryKeyRequest: parts[2],
            personalizedData: parts[3],
            sharedInfo2: parts[4],
            application: parts[5]
        )
    }
}

// The former fields of an upgraded activation under separate names, until the server confirms the upgrade.
extension RecordFields {
    private mutating func write(_ state: Version4Keys.Version3State) {
        var fields = RecordFields()
        fields.write(state.keys)
        fields.write(state.ledger)
        for (name, bytes) in fields.open { self.open[name.prefixed(Version4Name.upgradedPrefix)] = bytes }
        for (name, secret) in fields.secret { self.secret[name.prefixed(Version4Name.upgradedPrefix)] = secret }
    }

    private func version3State() throws -> Version4Keys.Version3State {
        var fields = RecordFields()
        for (name, bytes) in self.open {
            if let name = name.dropping(prefix: Version4Name.upgradedPrefix) { fields.open[name] = bytes }
        }
        for (name, secret) in self.secret {
            if let name = name.dropping(prefix: Version4Name.upgradedPrefix) { fields.secret[name] = secret }
        }
        let version = try fields.version()
        guard version.isVersion3 else { throw MobileTokenError.damaged(Name.version.string) }
        return Version4Keys.Version3State(
            keys: try fields.version3Keys(version),
            ledger: try fields.ledger(of: version)
        )
    }
}

extension ExactString {
    fileprivate func prefixed(_ prefix: String) -> Self { Self(prefix + self.string) }
}

extension RecordFields.VersionNames {
    fileprivate func prefixed(_ prefix: String, and open: ExactString, _ secret: ExactString) -> Self {
        Self(
            open: Set((self.open + [open]).map { $0.prefixed(prefix) }),
            secret: Set((self.secret + [secret]).map { $0.prefixed(prefix) })
        )
    }
}
