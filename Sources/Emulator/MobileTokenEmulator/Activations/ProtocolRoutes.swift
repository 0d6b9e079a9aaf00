import APIDescriptions
import EmulatorBackend
import PowerAuthProtocol

/// The protocol rules and their effect.
struct ProtocolState: Described {
    let rules: EmulatorProtocolRules
    /// The release of real servers that this server emulates while it runs.
    let server: EmulatorServerProfile.Release

    private var allowedSuites: [String] { self.rules.allowedSuites.map(\.rawValue).sorted() }
    private var offeredSuites: [String] { self.rules.offeredSuites.map(\.rawValue) }
    private var upgradeOffers: [String] { self.rules.upgradeOffers.sorted() }
    private var unsupportedApplications: [String] { self.rules.unsupportedApplications.sorted() }

    static let fields = FieldTable<Self>(
        showing: "ProtocolRules",
        .required("minimumVersion", \.rules.minimumVersion, .count, unit: .version),
        .required("allowedSuites", \.allowedSuites, .list(of: .string)),
        .required("offeredSuites", \.offeredSuites, .list(of: .string)),
        .required("upgradeOffers", \.upgradeOffers, .list(of: .string)),
        .required("unsupportedApplications", \.unsupportedApplications, .list(of: .string)),
        .required("allowsRemovalByPossession", \.rules.allowsRemovalByPossession, .boolean),
        .required("acceptsCustomIdentities", \.rules.acceptsCustomIdentities, .boolean),
        .required("allowsVaultWithBiometry", \.rules.allowsVaultWithBiometry, .boolean),
        .required("allowsDeviceKeysWithBiometry", \.rules.allowsDeviceKeysWithBiometry, .boolean),
        .required("transfersActivations", \.rules.transfersActivations, .boolean),
        .required("documentedAnswersOnly", \.rules.documentedAnswersOnly, .boolean),
        .required("server", \.server, .cases(), "The release of real servers that it behaves as.")
    )
}

/// A change of the rules; omitted members stay.
struct ProtocolChange: Described {
    var minimumVersion: Int?
    var allowedSuites: Set<AlgorithmSuite>?
    var upgradeOffers: Set<String>?
    var unsupportedApplications: Set<String>?
    var allowsRemovalByPossession: Bool?
    var acceptsCustomIdentities: Bool?
    var allowsVaultWithBiometry: Bool?
    var allowsDeviceKeysWithBiometry: Bool?
    var transfersActivations: Bool?
    var documentedAnswersOnly: Bool?

    static let fields = FieldTable(
        "ProtocolChange",
        ProtocolChange.init,
        .optional("minimumVersion", \.minimumVersion, .integer(3...4), example: 4, unit: .version),
        .optional(
            "allowedSuites",
            \.allowedSuites,
            .set(of: .cases()),
            "None allows all.",
            example: Set([AlgorithmSuite.p384])
        ),
        .optional(
            "upgradeOffers",
            \.upgradeOffers,
            .set(of: .string),
            "The applications whose activations are offered version 4."
        ),
        .optional(
            "unsupportedApplications",
            \.unsupportedApplications,
            .set(of: .string),
            "The applications whose version is switched off, so that their key counts as unknown."
        ),
        .optional(
            "allowsRemovalByPossession",
            \.allowsRemovalByPossession,
            .boolean,
            "Lets a device remove its activation with one factor.",
            example: true
        ),
        .optional(
            "acceptsCustomIdentities",
            \.acceptsCustomIdentities,
            .boolean,
            "Lets a device activate with an identity of its own, as a bank's own code may."
        ),
        .optional(
            "allowsVaultWithBiometry",
            \.allowsVaultWithBiometry,
            .boolean,
            "Lets biometry open the vault of version 3, as the password does."
        ),
        .optional(
            "allowsDeviceKeysWithBiometry",
            \.allowsDeviceKeysWithBiometry,
            .boolean,
            "Lets biometry open the device's own keys in the vault of version 4, as the password does."
        ),
        .optional(
            "transfersActivations",
            \.transfersActivations,
            .boolean,
            "Gives devices activation codes for other applications, as the code of a bank does."
        ),
        .optional(
            "documentedAnswersOnly",
            \.documentedAnswersOnly,
            .boolean,
            "Lets the cloud API answer with what PowerAuth Cloud documents, and nothing else."
        )
    )

    func apply(to rules: inout EmulatorProtocolRules) {
        rules.minimumVersion = self.minimumVersion ?? rules.minimumVersion
        rules.allowedSuites = self.allowedSuites ?? rules.allowedSuites
        rules.upgradeOffers = self.upgradeOffers ?? rules.upgradeOffers
        rules.unsupportedApplications = self.unsupportedApplications ?? rules.unsupportedApplications
        rules.allowsRemovalByPossession = self.allowsRemovalByPossession ?? rules.allowsRemovalByPossession
        rules.acceptsCustomIdentities = self.acceptsCustomIdentities ?? rules.acceptsCustomIdentities
        rules.allowsVaultWithBiometry = self.allowsVaultWithBiometry ?? rules.allowsVaultWithBiometry
        rules.allowsDeviceKeysWithBiometry = self.allowsDeviceKeysWithBiometry ?? rules.allowsDeviceKeysWithBiometry
        rules.transfersActivations = self.transfersActivations ?? rules.transfersActivations
        rules.documentedAnswersOnly = self.documentedAnswersOnly ?? rules.documentedAnswersOnly
    }
}

extension ControlAPI {
    static let protocolRoutes = [
        Route(
            "GET /protocol",
            "Tells which versions of the protocol are accepted.",
            gives: ProtocolState.form
        ) { control in await control.protocolRules },
        Route(
            "PUT /protocol",
            named: "setProtocol",
            "Changes which versions of the protocol are accepted.",
            takes: Call.body(ProtocolChange.form),
            gives: ProtocolState.form
        ) { control, change in
            var rules = await control.core.protocolRules
            change.apply(to: &rules)
            try await control.core.setProtocolRules(rules)
            return await control.protocolRules
        },
    ]

    private var protocolRules: ProtocolState {
        get async {
            ProtocolState(rules: await self.core.protocolRules, server: self.core.configuration.profile.release)
        }
    }
}
