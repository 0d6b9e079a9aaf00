import Coordination
import HTTPClientTransport
import PowerAuth
@testable import PowerAuthClient
import PowerAuthCrypto
import PowerAuthProtocol
import Testing

/// A client at a verifying server, and what most tests do with it.
struct Fixture {
    static let password = "1234-pass"
    static let secret = SecretBytes(utf8: Self.password)
    static let twoFactors = Activation.Authentication.possessionAndKnowledge(password: Self.secret)

    let server: VerifyingServer
    let store: ActivationStore
    let client: MobileTokenClient

    init(
        suite: AlgorithmSuite = .p384,
        version: ProtocolVersion = .v3_3,
        server: VerifyingServer? = nil,
        store: ActivationStore = ActivationStore.inMemory(),
        transport: (any HTTPTransport)? = nil,
        _ configure: (inout MobileTokenClient.Configuration) -> Void = { _ in }
    ) throws {
        self.server = try server ?? VerifyingServer()
        self.store = store
        var configuration = MobileTokenClient.Configuration()
        configuration.transport = transport ?? self.server
        configuration.store = store
        configuration.version = version
        configuration.suite = suite
        configure(&configuration)
        self.client = try MobileTokenClient(
            baseURL: VerifyingServer.baseURL,
            sdkConfiguration: self.server.configuration,
            configuration: configuration
        )
    }

    func activate(biometryKey: SecretBytes? = nil) async throws -> Activation {
        let version = self.client.configuration.version
        var request = try ActivationRequest(code: self.server.makeCode(version: version.isVersion3 ? .v3_3 : version))
        request.name = "bot"
        return try await self.client.activate(request, password: Self.secret, biometryKey: biometryKey).activation
    }

    /// An activation of version 3 that the server offers an upgrade.
    func activateInVersion3(biometryKey: SecretBytes? = nil) async throws -> Activation {
        self.server.offerUpgrades()
        return try await self.activate(biometryKey: biometryKey)
    }
}

extension Activation {
    /// A signed request that the server counts under `id`.
    func approve(_ id: String, with authentication: Activation.Authentication = .possession) async throws {
        try await self.sign(id, with: authentication, nil)
    }

    /// A signed request that decides; returns the signature.
    @discardableResult
    func decide(
        _ id: String = "x",
        with authentication: Activation.Authentication = .possession,
        _ decision: DecisionIntent
    ) async throws -> SignedDecision? {
        try await self.sign(id, with: authentication, decision)
    }

    @discardableResult
    private func sign(
        _ id: String,
        with authentication: Activation.Authentication,
        _ decision: DecisionIntent?
    ) async throws -> SignedDecision? {
        try await self.post(
            "/api/signed",
            body: Array(#"{"requestObject":{"id":"\#(id)"}}"#.utf8),
            authentication: .signature(uriID: "/signed", authentication),
            acceptLanguage: "en",
            decision: decision
        ).decision
    }

    private nonisolated var gate: KeyedSemaphore? {
        let driver = self.server.store.driver
        return switch (driver as? CheckpointDriver)?.base ?? driver {
        case let driver as MemoryDriver: driver.gate
        case let driver as SQLiteDriver: driver.gate
        default: nil
        }
    }

    /// `true` if a signature has its turn.
    nonisolated var isSigning: Bool { self.gate?.isBusy(in: self.activationID) ?? false }

    nonisolated var waitingSignatureCount: Int { self.gate?.waitingCount(in: self.activationID) ?? 0 }

    func poll() async throws {
        _ = try await self.post(
            "/api/token",
            body: Array("{}".utf8),
            authentication: .universalToken,
            acceptLanguage: "en",
            decision: nil
        )
    }
}

/// Expects that `body` throws an error of this code.
func expectError(
    _ code: MobileTokenError.Code,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> some Any
) async {
    #expect(await errorCode { _ = try await body() } == code, sourceLocation: sourceLocation)
}

func expectError(
    _ code: MobileTokenError.Code,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> some Any
) {
    let error = #expect(throws: MobileTokenError.self, sourceLocation: sourceLocation) { _ = try body() }
    #expect(error?.code == code, sourceLocation: sourceLocation)
}

/// Returns the code of the error that `body` throws; `nil` if it throws none.
func errorCode(_ body: () async throws -> Void) async -> MobileTokenError.Code? {
    do { try await body() } catch {
        return (error as? MobileTokenError)?.code ?? MobileTokenError.Code("\(type(of: error))")
    }
    return nil
}

extension Fixture {
    var activated: (Self, Activation) { get async throws { (self, try await self.activate()) } }
    var activatedInVersion3: (Self, Activation) { get async throws { (self, try await self.activateInVersion3()) } }
}
