import ExactJSON
import HTTPClientTransport
import MobileToken
import MobileTokenTesting
import PowerAuth
import TestSupport
import Testing

/// An activation at a server without a socket, and a party between that answers in the server's place.
struct ForeignSite: Sendable {
    private typealias Rule = @Sendable (HTTPRequest) throws -> HTTPResponse?

    static let unlockKey = SecretBytes(copying: Array(0..<16))

    let client: MobileTokenClient
    let activation: Activation
    let service: OperationsService
    private let backend: BackendTransport
    private let store = ActivationStore.inMemory()
    private let rule = Shared<Rule>({ _ in nil })
    /// The server and the stored activation, as they were at first.
    private let beginning: (server: Backend, record: ActivationRecord)

    /// - Parameter call: The call that the activation is to be ready for.
    init(_ call: ForeignCall) async throws {
        self.backend = try BackendTransport()
        self.backend.withBackend { $0.protocolRules.upgradeOffers = ["mobile-token"] }
        self.client = try Self.client(of: self.backend, call.version, self.store, self.rule)
        let request = try ActivationRequest(code: Self.makeCode(self.backend, call.version))
        let key = call.hasBiometry ? Self.unlockKey : nil
        self.activation = try await self.client.activate(
            request,
            password: SecretBytes(utf8: password),
            biometryKey: key
        )
        .activation
        self.service = self.client.makeOperationsService(for: self.activation)
        let record = try #require(try await self.store.record(of: self.activation.activationID))
        self.beginning = (self.backend.withBackend { $0 }, record)
    }

    /// Puts another site's server back to its beginning, and begins with the activation anew: with no receipt, and nothing known.
    init(again site: Self) async throws {
        (self.backend, self.beginning) = (site.backend, site.beginning)
        self.backend.withBackend { $0 = site.beginning.server }
        try await self.store.insert(site.beginning.record)
        self.client = try Self.client(of: self.backend, site.activation.version, self.store, self.rule)
        self.activation = try await self.client.activation(id: site.activation.activationID)
        self.service = self.client.makeOperationsService(for: self.activation)
    }

    private static func client(
        of backend: BackendTransport,
        _ version: ProtocolVersion,
        _ store: ActivationStore,
        _ rule: Shared<Rule>
    ) throws -> MobileTokenClient {
        var configuration = MobileTokenClient.Configuration()
        configuration.store = store
        configuration.version = version
        configuration.suite = .p384
        configuration.transport = try InterceptingTransport(base: backend) { request, deliver in
            if let response = try rule.value(request) { return response }
            return try await deliver(request)
        }
        return try MobileTokenClient(
            baseURL: "https://server.test/enrollment-server",
            sdkConfiguration: backend.withBackend { $0.defaultApplication.sdkConfiguration },
            configuration: configuration
        )
    }

    /// Answers requests to a path.
    ///
    /// - Parameter forwards: `true` if the server carries them out before.
    func answer(_ path: String, _ answer: ForeignAnswer, forwards: Bool) {
        let backend = self.backend
        self.rule.value = { request in
            guard request.url.hasSuffix(path) else { return nil }
            if forwards { _ = backend.response(to: request) }
            return try answer.result.get()
        }
    }

    func letThrough() { self.rule.value = { _ in nil } }

    /// Returns the error of a call; `nil` when it succeeds.
    static func error(of call: () async throws -> Void) async throws -> MobileTokenError? {
        do {
            try await call()
            return nil
        } catch let error as MobileTokenError {
            return error
        }
    }

    func results() async throws -> [DecisionOutcome.Result] {
        try await self.store.receipts(of: nil, after: 0, limit: 100).compactMap { $0.outcome?.result }
    }

    // MARK: The bank

    func makeCode(_ version: ProtocolVersion = .v3_3) throws -> String { try Self.makeCode(self.backend, version) }

    private static func makeCode(_ backend: BackendTransport, _ version: ProtocolVersion) throws -> String {
        let made = try backend.cloud(
            .post,
            "/v2/registrations",
            ["userId": "alice", "commitPhase": "ON_KEY_EXCHANGE", "protocolVersion": .string(version.rawValue)]
        )
        return made["activationCode"]?.string ?? ""
    }

    func offer() async throws -> UserOperation {
        let id = try self.backend.cloud(.post, "/v2/operations", ["userId": "alice", "template": "login"])[
            "operationId"
        ]
        return try await self.service.detail(id: id?.string ?? "")
    }

    func offerToAnybody() throws -> String {
        try self.backend.cloud(.post, "/v2/operations", ["template": "login"])["operationId"]?.string ?? ""
    }
}
