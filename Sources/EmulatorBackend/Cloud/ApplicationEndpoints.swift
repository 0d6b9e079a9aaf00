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
            "/admin/applications",
            of: .powerAuthCloud,
            adds: .application,
            "Creates an application.",
            takes: .required(.newApplication),
            gives: .applicationDetail,
            Self.create
        ),
        .cloud(
            "GET",
            "/admin/applications/{id}",
            of: .powerAuthCloud,
            "Shows an application.",
            gives: .applicationDetail,
            Self.show
        ),
        .cloud(
            "POST",
            "/admin/users",
            of: .powerAuthCloud,
            adds: .user,
            "Creates a user of the cloud API.",
            takes: .required(.newCloudUser),
            gives: .cloudUser,
            Self.createUser
        ),
    ]

    /// Another application, with keys of its own, beside those there are.
    static func create(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let request = try context.json()
        let id = try request.string("id")
        let roles = try request.strings("roles")
        guard bank.state.applications[id] == nil else { throw .invalid("id", "is taken", value: .string(id)) }
        var randomness = bank.state.randomness
        do {
            let application = try ServerApplication(id: id, roles: roles, randomness: &randomness)
            bank.state.randomness = randomness
            bank.state.applications[id] = application
            return Self.detail(application, context)
        } catch {
            throw .invalidRequest("The application's keys cannot be made")
        }
    }

    static func list(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let applications = bank.state.applications.values.sorted { $0.id < $1.id }
        return .json(["applications": .array(applications.map(Self.presented))])
    }

    static func show(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let id = context.pathArguments.first ?? ""
        guard let application = bank.state.applications[id] else { throw .unknownApplication("id", id) }
        return Self.detail(application, context)
    }

    /// An application in the words of the administration API, where the newer suites look up their configuration.
    private static func detail(_ application: ServerApplication, _ context: RequestContext) -> ServerResponse {
        .json([
            "id": .string(application.id),
            "serviceBaseUrl": .string((context.request.origin ?? "") + "/enrollment-server"),
            "mobileSdkConfig": .string(application.configuration.string),
            "roles": .strings(application.roles),
            "appKey": .string(application.key),
            "appSecret": .string(application.secret.base64),
            "masterServerPublicKey": .string(Base64.encode(application.masterKey.publicKey.uncompressed)),
        ])
    }

    /// Another user of the cloud API, with a password that this server makes up.
    static func createUser(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let name = try context.json().string("username")
        // A colon ends the name in Basic authentication.
        guard name.utf8.count <= 255, !name.utf8.contains(UInt8(ascii: ":")) else {
            throw .invalid("username", "is longer than 255 bytes, or has a colon", value: .string(name))
        }
        guard bank.state.cloudUsers[name] == nil else {
            throw .invalid("username", "is taken", value: .string(name))
        }
        let user = CloudUser(name: name, password: Base64.encode(bank.state.randomness.bytes(18)))
        bank.state.cloudUsers[name] = user
        return .json(["username": .string(user.name), "password": .string(user.password)])
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
