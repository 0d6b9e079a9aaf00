internal import EmulatorMessages
internal import ExactJSON
internal import PowerAuthCrypto
internal import PowerAuthProtocol

extension Backend {
    /// Another application, with keys of its own, beside those there are.
    mutating func createApplication(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let id = try context.json().string("appId")
        guard self.state.applications[id] == nil else {
            throw Refusal(400, "APPLICATION_EXISTS", "There is an application of this identifier")
        }
        var randomness = self.state.randomness
        do {
            let application = try ServerApplication(id: id, randomness: &randomness)
            self.state.randomness = randomness
            self.state.applications[id] = application
            return .json(Self.presented(application))
        } catch {
            throw .invalidRequest("The application's keys cannot be made")
        }
    }

    func listApplications(_ context: RequestContext) -> ServerResponse {
        let applications = self.state.applications.values.sorted { $0.id < $1.id }
        return .json(["applications": .array(applications.map(Self.presented))])
    }

    /// An application in the words of the administration API, where the newer suites look up their configuration.
    func application(_ context: RequestContext) throws(Refusal) -> ServerResponse {
        guard let id = context.pathArguments.first, let application = self.state.applications[id] else {
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

extension ServerApplication {
    fileprivate var configuration: SDKConfiguration {
        SDKConfiguration(
            applicationKey: self.key,
            applicationSecret: self.secret,
            masterPublicKey: self.masterKey.publicKey
        )
    }
}
