import EmulatorBackend
import EmulatorMessages
import Foundation
import PowerAuthProtocol

extension ControlAPI {
    private struct ProtocolState: Encodable {
        var minimumVersion: Int
        /// As configured; empty for all.
        var allowedSuites: [String]
        /// What a new activation may have.
        var offeredSuites: [String]
        var upgradeOffers: [String]
        var allowsRemovalByPossession: Bool
        /// The release of real servers that the server behaves as, and whether strictly. They stay as long as it runs.
        var server: String
        var isStrict: Bool
    }

    /// A change of the rules; what is left out stays.
    struct ProtocolChange: Decodable {
        private enum CodingKeys: String, CodingKey, CaseIterable {
            case minimumVersion, allowedSuites, upgradeOffers, allowsRemovalByPossession
        }

        var minimumVersion: Int?
        var allowedSuites: Set<AlgorithmSuite>?
        var upgradeOffers: Set<String>?
        var allowsRemovalByPossession: Bool?

        init(from decoder: any Decoder) throws {
            try decoder.refuseMembers(except: CodingKeys.self)
            let container = try decoder.container(keyedBy: CodingKeys.self)
            self.minimumVersion = try container.decodeIfPresent(Int.self, forKey: .minimumVersion)
            self.upgradeOffers = try container.decodeIfPresent(Set<String>.self, forKey: .upgradeOffers)
            self.allowsRemovalByPossession = try container.decodeIfPresent(
                Bool.self,
                forKey: .allowsRemovalByPossession
            )
            let names = try container.decodeIfPresent([String].self, forKey: .allowedSuites)
            self.allowedSuites = try names.map { names in
                Set(
                    try names.map { name in
                        if let suite = AlgorithmSuite(rawValue: name) { return suite }
                        let known = AlgorithmSuite.allCases.map(\.rawValue).joined(separator: ", ")
                        throw DecodingError.dataCorruptedError(
                            forKey: .allowedSuites,
                            in: container,
                            debugDescription: "'\(name)' is none of \(known)"
                        )
                    }
                )
            }
        }
    }

    func protocolRules() async -> ServerResponse {
        let rules = await self.core.protocolRules
        let profile = self.core.configuration.profile
        return .encoding(
            ProtocolState(
                minimumVersion: rules.minimumVersion,
                allowedSuites: rules.allowedSuites.map(\.rawValue).sorted(),
                offeredSuites: rules.offeredSuites.map(\.rawValue),
                upgradeOffers: rules.upgradeOffers.sorted(),
                allowsRemovalByPossession: rules.allowsRemovalByPossession,
                server: profile.release.rawValue,
                isStrict: profile.isStrict
            )
        )
    }

    func setProtocolRules(_ change: ProtocolChange) async throws {
        var rules = await self.core.protocolRules
        rules.minimumVersion = change.minimumVersion ?? rules.minimumVersion
        rules.allowedSuites = change.allowedSuites ?? rules.allowedSuites
        rules.upgradeOffers = change.upgradeOffers ?? rules.upgradeOffers
        rules.allowsRemovalByPossession = change.allowsRemovalByPossession ?? rules.allowsRemovalByPossession
        try await self.core.setProtocolRules(rules)
    }

    /// How long a block lasts.
    struct TemporaryBlock: Decodable {
        private enum CodingKeys: String, CodingKey, CaseIterable { case seconds }

        var seconds: Double?

        init(from decoder: any Decoder) throws {
            try decoder.refuseMembers(except: CodingKeys.self)
            let container = try decoder.container(keyedBy: CodingKeys.self)
            self.seconds = try container.decodeIfPresent(Double.self, forKey: .seconds)
        }
    }

    func block(_ id: String, for seconds: Double?) async throws -> ServerResponse {
        try await self.core.block(id, for: seconds)
        return .encoding(try await self.activation(id))
    }
}
