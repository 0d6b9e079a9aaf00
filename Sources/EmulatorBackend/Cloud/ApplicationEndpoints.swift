import EmulatorMessages
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

/// The applications of this server.
enum ApplicationEndpoints {
    static let routes: [Backend.Route] = [
        .cloud("GET", "/v2/applications", "Lists applications.", gives: .applications, Self.list),
        .cloud(
            "POST",
            "/v2/applications",
            adds: .application,
            "Creates an application.",
            takes: .required(.newApplication),
            gives: .application,
            Self.create
        ),
        .cloud("GET", "/admin/applications/{id}", "Shows an application.", gives: .applicationDetail, Self.show),
    ]

    /// Another application, with keys of its own, beside those there are.
    static func create(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let id = try context.json().string("appId")
        guard bank.state.applications[id] == nil else {
            throw Refusal(400, "APPLICATION_EXISTS", "There is an application of this identifier")
        }
        var randomness = bank.state.randomness
        do {
            let application = try ServerApplication(id: id, randomness: &randomness)
            bank.state.randomness = randomness
            bank.state.applications[id] = application
            return .json(Self.presented(application))
        } catch {
            throw .invalidRequest("The application's keys cannot be made")
        }
    }

    static func list(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let applications = bank.state.applications.values.sorted { $0.id < $1.id }
        return .json(["applications": .array(applications.map(Self.presented))])
    }

    /// An application in the words of the administration API, where the newer suites look up their configuration.
    static func show(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        guard let id = context.pathArguments.first, let application = bank.state.applications[id] else {
            throw Refusal(404, "APPLICATION_NOT_FOUND", "There is no such application")
        }
        return .json([
            "id": .string(application.id),
            "serviceBaseUrl": .string((context.request.origin ?? "") + "/enrollment-server"),
            "appKey": .string(application.key),
            "appSecret": .string(application.secret.base64),
            "masterServerPublicKey": .string(Base64.encode(application.masterKey.publicKey.uncompressed)),
            "mobileSdkConfig": .string(application.configuration.string),
        ]
        )
    }

    /// What a client is configured with.
    private static func presented(_ application: ServerApplication) -> JSONValue {
        [
            "appId": .string(application.id),
            "applicationKey": .string(application.key),
            "applicationSecret": .string(application.secret.base64),
            "masterServerPublicKey": .string(Base64.encode(application.masterKey.publicKey.uncompressed)),
            "sdkConfiguration": .string(application.configuration.string),
        ]
    }
}
