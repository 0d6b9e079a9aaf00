import CloudCalls
import EmulatorMessages
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

/// The applications of this server.
enum ApplicationEndpoints {
    static let routes: [Backend.Route] = [
        .cloud("GET", "/v2/applications", "Lists applications.", gives: .applications, Self.list),
        .cloud(CloudAPI.createApplication, adds: .application, Self.create),
        .cloud(CloudAPI.showApplication, Self.show),
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
    private static func create(
        _ bank: inout Backend,
        _ request: CloudAPI.NewApplication,
        _ context: inout RequestContext
    ) throws(Refusal) -> CloudAPI.Application {
        guard bank.state.applications[request.id] == nil else {
            throw .invalid("id", "is taken", value: .string(request.id))
        }
        var randomness = bank.state.randomness
        do {
            let application = try ServerApplication(
                id: request.id,
                roles: request.roles ?? [],
                randomness: &randomness
            )
            bank.state.randomness = randomness
            bank.state.applications[request.id] = application
            return CloudAPI.Application(application, context)
        } catch {
            throw .invalidRequest("The application's keys cannot be made")
        }
    }

    static func list(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let applications = bank.state.applications.values.sorted { $0.id < $1.id }
        return .json(["applications": .array(applications.map(Self.presented))])
    }

    private static func show(
        _ bank: inout Backend,
        _ id: String,
        _ context: inout RequestContext
    ) throws(Refusal) -> CloudAPI.Application {
        guard let application = bank.state.applications[id] else { throw .unknownApplication("id", id) }
        return CloudAPI.Application(application, context)
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

extension CloudAPI.Application {
    fileprivate init(_ application: ServerApplication, _ context: RequestContext) {
        self.init(
            id: application.id,
            serviceBaseURL: (context.request.origin ?? "") + "/enrollment-server",
            key: application.key,
            secret: application.secret.base64,
            masterPublicKey: Base64.encode(application.masterKey.publicKey.uncompressed),
            sdkConfiguration: application.configuration.string,
            roles: application.roles
        )
    }
}
