import EmulatorMessages
import ExactJSON
import PowerAuthProtocol

/// One value of the configuration that an application keeps on its server, for its installations alone.
package struct ConfigurationEntry: Sendable, Codable, Equatable {
    /// The readers of a value.
    enum Scope: String, Sendable, Codable, CaseIterable {
        /// Every installation of the application.
        case application = "APPLICATION"
        /// Those that are activated.
        case activation = "ACTIVATION"
    }

    let key: String
    let value: JSONValue
    let scope: Scope
}

/// The secure configuration of applications: how devices of version 4 read it, and how it is set.
enum SecureConfiguration {
    /// For devices, as annotated endpoints.
    static let routes: [Backend.Route] = [
        Self.route("application", "Tells an application's configuration.", .application),
        Self.route("activation", "Tells an activation's configuration, that of its application included.", .activation),
    ]

    /// For the bank.
    static let administration: [Backend.Route] = [
        .cloud(
            "GET",
            "/v2/applications/{id}/config",
            "Shows the secure configuration of an application.",
            gives: .secureConfiguration
        ) { (bank, context) throws(Refusal) in
            try .json(Self.presented(Self.application(bank, context).configurationEntries))
        },
        .cloud(
            "PUT",
            "/v2/applications/{id}/config",
            adds: .contents,
            "Replaces the secure configuration of an application.",
            takes: .required(.secureConfiguration),
            gives: .secureConfiguration,
            Self.replace
        ),
    ]

    private static func route(_ path: String, _ summary: String, _ scope: EncryptionScope) -> Backend.Route {
        .device(
            "POST",
            "/pa/v4/config/" + path,
            summary,
            takes: .required(.envelope4),
            gives: .sealed4
        ) { (bank, context) throws(Refusal) in
            let demand = AnnotatedDemand(
                proof: .envelope(refusal: Refusal.encryption),
                scope: scope,
                version: .version4
            )
            let call = try bank.receive(&context, demand)
            guard let application = call.application else { throw .configuration("there is no such application") }
            let entries = application.configurationEntries.filter { scope == .activation || $0.scope == .application }
            return try bank.respond(Self.presented(entries), to: call, &context)
        }
    }

    private static func presented(_ entries: [ConfigurationEntry]) -> JSONValue {
        [
            "config": .array(
                entries.map { entry in
                    ["key": .string(entry.key), "value": entry.value, "scope": .string(entry.scope.rawValue)]
                }
            )
        ]
    }

    private static func application(_ bank: Backend, _ context: RequestContext) throws(Refusal) -> ServerApplication {
        guard let id = context.pathArguments.first, let application = bank.state.applications[id] else {
            throw Refusal(404, "APPLICATION_NOT_FOUND", "There is no such application")
        }
        return application
    }

    private static func replace(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal)
        -> ServerResponse
    {
        let application = try Self.application(bank, context)
        let list = try context.json()["config"]?.array ?? []
        let entries = list.compactMap { try? $0.decode(ConfigurationEntry.self) }
        guard entries.count == list.count, Set(entries.map { $0.key }).count == entries.count else {
            throw .invalidRequest("An entry is not of its form, or a key is given twice")
        }
        bank.state.applications.update(application.id) { $0.configurationEntries = entries }
        return .json(Self.presented(entries))
    }
}

extension Schema {
    fileprivate static let secureConfiguration = Self.object(
        "SecureConfiguration",
        [
            .required(
                "config",
                .list(
                    of: .object(
                        "ConfigurationEntry",
                        [
                            .required("key", .word), .required("value", .anything, "Any JSON."),
                            .required("scope", .oneOf(ConfigurationEntry.Scope.self), "Who may read it."),
                        ]
                    )
                )
            )
        ]
    )
}
