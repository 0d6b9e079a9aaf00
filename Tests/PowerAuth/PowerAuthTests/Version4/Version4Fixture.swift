import HTTPClientTransport
import PowerAuth
import PowerAuthCrypto
import PowerAuthProtocol

/// A client of version 4 at a verifying server, and what most tests do with it.
struct Version4Fixture {
    static let password = SecretBytes(utf8: Fixture.password)
    static let twoFactors = Activation.Authentication.possessionAndKnowledge(password: Self.password)

    let server: VerifyingServer
    let store: ActivationStore
    let client: MobileTokenClient

    init(
        suite: AlgorithmSuite = .p384,
        version: ProtocolVersion = .v4_0,
        server: VerifyingServer? = nil,
        store: ActivationStore = ActivationStore.inMemory(),
        transport: (any HTTPTransport)? = nil,
        _ configure: (inout MobileTokenClient.Configuration) -> Void = { _ in }
    ) throws {
        let server = try server ?? VerifyingServer()
        var configuration = MobileTokenClient.Configuration()
        configuration.transport = transport ?? server
        configuration.store = store
        configuration.version = version
        configuration.suite = suite
        configure(&configuration)
        self.server = server
        self.store = store
        self.client = try MobileTokenClient(
            baseURL: VerifyingServer.baseURL,
            sdkConfiguration: server.configuration,
            configuration: configuration
        )
    }

    func activate(biometryKey: SecretBytes? = nil) async throws -> Activation {
        var request = try ActivationRequest(code: try self.server.makeCode(version: .v4_0))
        request.name = "bot"
        return try await self.client.activate(request, password: Self.password, biometryKey: biometryKey).activation
    }

    /// An activation of the version that the client is configured with.
    func activateInItsVersion() async throws -> Activation {
        let isVersion3 = self.client.configuration.version.isVersion3
        return isVersion3 ? try await self.activateInVersion3() : try await self.activate()
    }

    /// An activation of version 3 that the server offers an upgrade.
    func activateInVersion3(biometryKey: SecretBytes? = nil) async throws -> Activation {
        self.server.offerUpgrades()
        var request = try ActivationRequest(code: try self.server.makeCode())
        request.name = "bot"
        return try await self.client.activate(request, password: Self.password, biometryKey: biometryKey).activation
    }
}

extension Version4Fixture {
    var activated: (Self, Activation) { get async throws { (self, try await self.activate()) } }
    /// The fixture with an activation of version 3 that the server offers an upgrade.
    var activatedInVersion3: (Self, Activation) { get async throws { (self, try await self.activateInVersion3()) } }
}
