import Basics
import PowerAuthProtocol

extension RecordFields {
    private enum Version3Name {
        static let devicePublicKey: ExactString = "device-public-key"
        static let serverPublicKey: ExactString = "server-public-key"
        static let knowledgeSalt: ExactString = "knowledge-salt"
        static let possessionKey: ExactString = "possession-key"
        static let transportKey: ExactString = "transport-key"
        static let knowledgeKey: ExactString = "knowledge-key"
        static let biometryKey: ExactString = "biometry-key"
        static let devicePrivateKey: ExactString = "device-private-key"
    }

    static let version3Names = VersionNames(
        open: [Version3Name.devicePublicKey, Version3Name.serverPublicKey, Version3Name.knowledgeSalt],
        secret: [
            Version3Name.possessionKey, Version3Name.transportKey, Version3Name.knowledgeKey, Version3Name.biometryKey,
            Version3Name.devicePrivateKey,
        ]
    )

    mutating func write(_ keys: Version3Keys) {
        self.open[Name.version] = Array(keys.version.rawValue.utf8)
        self.open[Version3Name.devicePublicKey] = keys.devicePublicKey
        self.open[Version3Name.serverPublicKey] = keys.serverPublicKey
        self.open[Version3Name.knowledgeSalt] = keys.knowledgeSalt
        self.secret[Version3Name.possessionKey] = keys.possessionKey
        self.secret[Version3Name.transportKey] = keys.transportKey
        self.secret[Version3Name.knowledgeKey] = keys.encryptedKnowledgeKey
        self.secret[Version3Name.biometryKey] = keys.encryptedBiometryKey
        self.secret[Version3Name.devicePrivateKey] = keys.encryptedDevicePrivateKey
        if keys.isUpgrading { self.open[Name.pendingConfirmation] = SealedActivation.upgradeMark.bytes }
    }

    func version3Keys(_ version: ProtocolVersion) throws -> Version3Keys {
        var keys = Version3Keys(
            version: version,
            devicePublicKey: try self.bytes(Version3Name.devicePublicKey),
            serverPublicKey: try self.bytes(Version3Name.serverPublicKey),
            possessionKey: try self.secretBytes(Version3Name.possessionKey),
            transportKey: try self.secretBytes(Version3Name.transportKey),
            encryptedKnowledgeKey: try self.secretBytes(Version3Name.knowledgeKey),
            knowledgeSalt: try self.bytes(Version3Name.knowledgeSalt),
            encryptedBiometryKey: self.secret[Version3Name.biometryKey],
            encryptedDevicePrivateKey: try self.secretBytes(Version3Name.devicePrivateKey)
        )
        if let step = self.open[Name.pendingConfirmation] {
            guard step == SealedActivation.upgradeMark.bytes else { throw Self.unknownStep }
            keys.isUpgrading = true
        }
        return keys
    }
}
