public import PowerAuthProtocol

/// The versions of the protocol that the server accepts, and to whom it offers the newer one. They can be changed while it runs.
///
/// By default, devices of every version are served side by side, with every suite that libcrypto has, and no activation is
/// offered an upgrade.
public struct EmulatorProtocolRules: Sendable, Codable, Hashable {
    /// The oldest version whose requests are accepted: 3 or 4.
    ///
    /// With 4, an activation of version 3 can read its status and upgrade, and nothing else.
    public var minimumVersion = 3
    /// The suites of version 4 on offer; empty for all.
    ///
    /// An activation whose suite is withdrawn goes on, and its status says so. It agrees on no new keys.
    public var allowedSuites: Set<AlgorithmSuite> = []
    /// The identifiers of the applications whose activations of version 3 are offered the upgrade.
    public var upgradeOffers: Set<String> = []
    /// Indicates whether a device may remove its activation with possession alone. Not by default, and only where the release of the
    /// ``EmulatorServerProfile`` has such a setting.
    public var allowsRemovalByPossession = false
    /// Indicates whether biometry opens the vault of version 3, as the password does; not by default.
    public var allowsVaultWithBiometry = false
    /// Indicates whether biometry opens the device's own keys in the vault of version 4, as the password does; so by default. Real
    /// servers have it as `disable_biometry_unlock_kek_device_private`, the other way around.
    public var allowsDeviceKeysWithBiometry = true
    /// Indicates whether answers of the cloud API hold only members that the documentation of PowerAuth Cloud shows; not by default.
    ///
    /// It shows an operation without the data that is signed, without the time of the decision and without what is known of the
    /// deciding device. A program that needs them works with this server, and may not work with a bank's.
    public var documentedAnswersOnly = false

    /// The defaults.
    public init() {}
}

extension EmulatorProtocolRules {
    /// The versions that ``minimumVersion`` can be.
    package static let minimumVersions = MajorVersion.allCases.map(\.rawValue)

    /// The suites that a new activation may have, in the order in which they are told.
    package var offeredSuites: [AlgorithmSuite] { AlgorithmSuite.available.filter(self.allowsSuite) }

    /// Indicates whether requests of a version are accepted.
    func accepts(_ version: MajorVersion) -> Bool { version.rawValue >= self.minimumVersion }

    /// The version that a device is taken for which nothing is known of yet.
    var presumedVersion: MajorVersion { MajorVersion.allCases.first(where: self.accepts) ?? .version4 }

    /// Indicates whether a suite is on offer, whether or not this process has it.
    func allowsSuite(_ suite: AlgorithmSuite) -> Bool {
        self.allowedSuites.isEmpty || self.allowedSuites.contains(suite)
    }

    /// Indicates whether keys can be agreed on with a suite.
    func acceptsSuite(_ suite: AlgorithmSuite) -> Bool { suite.isAvailable && self.allowsSuite(suite) }

    func offersUpgrade(to applicationID: String) -> Bool { self.upgradeOffers.contains(applicationID) }
}

extension EmulatorProtocolRules {
    /// The types of code that a key of the vault of version 4 is handed out for.
    func typesForVault4(_ key: Version4.VaultKeyIdentifier) -> Set<SignatureType> {
        switch key {
        case .devicePrivateKeys: self.allowsDeviceKeysWithBiometry ? .twoFactors : [.possessionKnowledge]
        case .applicationTwoFactor: .twoFactors
        case .applicationKnowledge: [.possessionKnowledge]
        }
    }
}

extension EmulatorServerProfile {
    /// The types of signature that open the vault of version 3. The password always does. Releases up to 1.10 also take password and
    /// biometry together, and any release takes biometry alone if the rules allow it.
    func typesForVault3(_ rules: EmulatorProtocolRules) -> Set<SignatureType> {
        var types: Set<SignatureType> = [.possessionKnowledge]
        if self.acceptsThreeFactors { types.insert(.possessionKnowledgeBiometry) }
        if rules.allowsVaultWithBiometry { types.insert(.possessionBiometry) }
        return types
    }
}
