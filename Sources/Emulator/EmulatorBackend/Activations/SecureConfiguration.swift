import APIDescriptions
import MobileTokenCloud
import PowerAuthProtocol

/// The secure configuration of applications: reading by version 4 devices, and administration.
enum SecureConfiguration {
    /// The annotated endpoints for devices.
    static let routes: [Backend.Route] = [
        Self.route("application", "Tells an application's configuration.", .application),
        Self.route("activation", "Tells an activation's configuration, that of its application included.", .activation),
    ]

    /// The endpoints for the bank.
    static let administration: [Backend.Route] = [
        .cloud(CloudAPI.showConfiguration) { (bank, id, _) throws(Refusal) in
            try Self.application(bank, id).configurationEntries
        },
        .cloud(CloudAPI.replaceConfiguration, adds: .contents) { (bank, input, _) throws(Refusal) in
            let (id, entries) = input
            let application = try Self.application(bank, id)
            bank.state.applications.update(application.id) { $0.configurationEntries = entries }
            return entries
        },
    ]

    private static func route(_ path: String, _ summary: String, _ scope: EnvelopeScope) -> Backend.Route {
        .device(
            "POST /pa/v4/config/\(path)",
            summary,
            takes: .required(.envelope4),
            gives: .sealed4
        ) { (bank, context) throws(Refusal) in
            let demand = ApplicationEndpointPolicy(
                proof: .envelope(refusal: Refusal.encryption),
                scope: scope,
                version: .version4
            )
            let call = try bank.receive(&context, demand)
            guard let application = call.application else { throw .configuration("there is no such application") }
            let entries = application.configurationEntries.filter { scope == .activation || $0.scope == .application }
            return try bank.respond(CloudAPI.configuration.form.json(entries), to: call, &context)
        }
    }

    private static func application(_ bank: Backend, _ id: String) throws(Refusal) -> ServerApplication {
        try bank.state.applications[id].found("application")
    }
}
