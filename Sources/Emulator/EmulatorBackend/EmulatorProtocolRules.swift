public import PowerAuthProtocol

/// The accepted protocol versions, and the recipients of upgrade offers. They can be changed while the server runs.
///
/// By default, devices of all versions are served, with every suite in libcrypto, and no activation is offered an upgrade.
public struct EmulatorProtocolRules: Sendable, Codable, Hashable {
    /// The oldest accepted protocol version: 3 or 4.
    ///
    /// With 4, a version 3 activation can only read its status and upgrade.
    public var minimumVersion = 3
    /// The available suites of version 4; empty for all.
    ///
    /// An activation with a withdrawn suite continues, and its status reports that. It cannot agree on new keys.
    public var allowedSuites: Set<AlgorithmSuite> = []
    /// The identifiers of the applications whose version 3 activations are offered the upgrade.
    public var upgradeOffers: Set<String> = []
    /// The identifiers of the applications whose version is switched off, as an old one of a bank's is: their key counts as unknown.
    public var unsupportedApplications: Set<String> = []
    /// Indicates whether a device may remove its activation with possession only. Default: `false`. Ignored if the
    /// ``EmulatorServerProfile``'s release lacks this setting.
    public var allowsRemovalByPossession = false
    /// Indicates whether a device may activate with an identity for a bank's own code, all of which are accepted here: `CUSTOM`,
    /// and `DIRECT` with another method than `oidc`. Default: `false`, as on a server without such code.
    public var acceptsCustomIdentities = false
    /// Indicates whether biometry opens the version 3 vault, as the password does. Default: `false`.
    public var allowsVaultWithBiometry = false
    /// Indicates whether biometry opens the device's own keys in the version 4 vault, as the password does. Default: `true`. Real
    /// servers have the inverse setting, `disable_biometry_unlock_kek_device_private`.
    public var allowsDeviceKeysWithBiometry = true
    /// Indicates whether a device can get an activation code for another application. Default: `false`: real servers offer that
    /// only with a bank's additional code.
    public var transfersActivations = false
    /// Indicates whether cloud API responses contain only members in the PowerAuth Cloud documentation. Default: `false`.
    ///
    /// The documentation lacks an operation's signed data, the time of the decision and information on the deciding device. A
    /// program that needs them works with this server, but perhaps not with a bank's.
    public var documentedAnswersOnly = false

    /// Creates the default rules.
    public init() {}
}

extension EmulatorProtocolRules {
    /// The possible values of ``minimumVersion``.
    package static let minimumVersions = MajorVersion.allCases.map(\.rawValue)

    /// The suites available to a new activation, in the order of the response.
    package var offeredSuites: [AlgorithmSuite] { AlgorithmSuite.available.filter(self.allowsSuite) }

    func accepts(_ version: MajorVersion) -> Bool { version.rawValue >= self.minimumVersion }

    /// The version presumed for an unknown device.
    var presumedVersion: MajorVersion { MajorVersion.allCases.first(where: self.accepts) ?? .version4 }

    /// Indicates whether a suite is offered, even if this process lacks it.
    func allowsSuite(_ suite: AlgorithmSuite) -> Bool {
        self.allowedSuites.isEmpty || self.allowedSuites.contains(suite)
    }

    /// Indicates whether keys can be agreed with a suite.
    func acceptsSuite(_ suite: AlgorithmSuite) -> Bool { suite.isAvailable && self.allowsSuite(suite) }

    func offersUpgrade(to applicationID: String) -> Bool { self.upgradeOffers.contains(applicationID) }
}

extension EmulatorProtocolRules {
    /// The signature types that open the version 3 vault. The password always does.
    var typesForVault3: Set<SignatureType> {
        self.allowsVaultWithBiometry ? .twoFactors : [.possessionKnowledge]
    }

    /// Returns the code types that open a key of the version 4 vault.
    func typesForVault4(_ key: Version4.VaultKeyIdentifier) -> Set<SignatureType> {
        switch key {
        case .devicePrivateKeys: self.allowsDeviceKeysWithBiometry ? .twoFactors : [.possessionKnowledge]
        case .applicationTwoFactor: .twoFactors
        case .applicationKnowledge: [.possessionKnowledge]
        }
    }
}
