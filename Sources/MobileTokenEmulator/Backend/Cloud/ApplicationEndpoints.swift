internal import PowerAuthCrypto
internal import PowerAuthProtocol

extension Backend {
    /// Another application, with keys of its own, beside those there are.
    mutating func createApplication(_ call: inout Call) throws(BackendRefusal) -> Answer {
        let id = try call.json().text("appId")
        guard self.state.applications[id] == nil else {
            throw BackendRefusal(400, "APPLICATION_EXISTS", "There is an application of this identifier")
        }
        var randomness = self.state.randomness
        do {
            let application = try ServerApplication(id: id, randomness: &randomness)
            self.state.randomness = randomness
            self.state.applications[id] = application
            return Answer(body: Self.presented(application))
        } catch {
            throw .invalidRequest("The application's keys cannot be made")
        }
    }

    func listApplications(_ call: Call) -> Answer {
        let applications = self.state.applications.values.sorted { $0.id < $1.id }
        return Answer(body: ["applications": .array(applications.map(Self.presented))])
    }

    /// What a client is configured with.
    private static func presented(_ application: ServerApplication) -> JSONValue {
        let configuration = SDKConfiguration(
            applicationKey: application.key,
            applicationSecret: application.secret,
            masterPublicKey: application.masterKey.publicKey
        )
        return [
            "appId": .string(application.id),
            "applicationKey": .string(application.key),
            "applicationSecret": .string(application.secret.base64),
            "masterServerPublicKey": .string(Base64.encode(application.masterKey.publicKey.uncompressed)),
            "sdkConfiguration": .string(configuration.text),
        ]
    }
}
