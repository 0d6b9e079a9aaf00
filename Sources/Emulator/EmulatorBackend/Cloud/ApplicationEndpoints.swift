import EmulatorMessages
import ExactJSON
import MobileTokenCloud
import PowerAuthCrypto
import PowerAuthProtocol

/// The applications of this server.
enum ApplicationEndpoints {
    static let routes: [Backend.Route] = [
        .cloud(CloudAPI.listApplications, Self.list),
        .cloud(CloudAPI.createApplication, adds: .application, Self.create),
        .cloud(CloudAPI.showApplication, Self.show),
        .cloud(CloudAPI.createUser, adds: .user, Self.createUser),
    ]

    /// Creates an additional application with its own keys.
    private static func create(
        _ bank: inout Backend,
        _ request: CloudAPI.NewApplication,
        _ context: inout RequestContext
    ) throws(Refusal) -> CloudClient.Application {
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
            return CloudClient.Application(application, bank.profile, context)
        } catch {
            throw .invalidRequest("The application's keys cannot be made")
        }
    }

    private static func list(
        _ bank: inout Backend,
        _: Void,
        _ context: inout RequestContext
    ) throws(Refusal) -> [CloudClient.Application] {
        let applications = bank.state.applications.values.sorted { $0.id < $1.id }
        return applications.map { [profile = bank.profile, context] in .init($0, profile, context) }
    }

    private static func show(
        _ bank: inout Backend,
        _ id: String,
        _ context: inout RequestContext
    ) throws(Refusal) -> CloudClient.Application {
        guard let application = bank.state.applications[id] else { throw .unknownApplication("id", id) }
        return CloudClient.Application(application, bank.profile, context)
    }

    /// Creates a cloud API user with a generated password.
    private static func createUser(
        _ bank: inout Backend,
        _ name: String,
        _ context: inout RequestContext
    ) throws(Refusal) -> CloudAPI.User {
        // In Basic authentication a colon ends the name.
        guard name.utf8.count <= 255, !name.utf8.contains(UInt8(ascii: ":")) else {
            throw .invalid("username", "is longer than 255 bytes, or has a colon", value: .string(name))
        }
        guard bank.state.cloudUsers[name] == nil, bank.cloudCredentials?.areOf(user: name) != true else {
            throw .invalid("username", "is taken", value: .string(name))
        }
        let user = CloudAPI.User(name: name, password: Base64.encode(bank.state.randomness.bytes(18)))
        bank.state.cloudUsers[name] = user
        return user
    }
}

extension CloudClient.Application {
    fileprivate init(_ application: ServerApplication, _ profile: EmulatorServerProfile, _ context: RequestContext) {
        self.init(
            id: application.id,
            serviceBaseURL: (context.request.origin ?? "") + "/enrollment-server",
            key: application.key,
            secret: application.secret.base64,
            masterPublicKey: Base64.encode(application.masterKey.publicKey.uncompressed),
            sdkConfiguration: application.configuration(of: profile).string,
            roles: application.roles
        )
    }
}

extension CloudAPI.User {
    var credentials: BasicCredentials { BasicCredentials(user: self.name, password: self.password) }
}
