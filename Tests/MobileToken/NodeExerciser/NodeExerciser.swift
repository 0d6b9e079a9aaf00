import Foundation
import Glibc
import HTTPClientTransport
import MobileToken
import MobileTokenPostgres
import PowerAuth

/// A process that approves whatever is offered to its share of a PostgreSQL store, so that the tests can have several of them,
/// freeze them, and kill them.
///
/// Arguments are `name=value`. It writes `approving` once it takes part, and then works until it is killed or, with
/// `ends-with-input`, its standard input ends, as it does when the tests are killed.
///
/// With `freezes-before=` it signs once with one activation instead, and freezes on the way.
@main
struct NodeExerciser {
    let settings: [String: String]

    static func main() async {
        let pairs = CommandLine.arguments.dropFirst().map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
        let exerciser = Self(
            settings: Dictionary(pairs.map { ($0[0], $0.count > 1 ? $0[1] : "") }, uniquingKeysWith: { $1 })
        )
        if exerciser.settings["ends-with-input"] != nil {
            Thread.detachNewThread {
                while readLine() != nil {}
                exit(4)
            }
        }
        do {
            if exerciser.settings["freezes-before"] == nil {
                try await exerciser.approve()
            } else {
                try await exerciser.signFreezing()
            }
            exit(0)
        } catch let error as MobileTokenError where exerciser.settings["freezes-before"] != nil {
            Self.say("\(error.code)")
            exit(1)
        } catch {
            Self.say("\(error)")
            exit(1)
        }
    }

    /// Writes a line at once: `print` would keep it in a buffer, and lose it when the process is killed.
    private static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        guard write(STDOUT_FILENO, bytes, bytes.count) == bytes.count else { exit(3) }
    }

    private func approve() async throws {
        let store = self.makeStore()
        try await store.open()
        let client = try self.makeClient(store)
        var fleetConfiguration = OperationsFleet.Configuration()
        fleetConfiguration.membership = try PostgresFleetMembership(store: store)
        fleetConfiguration.pollInterval = .seconds(self.settings["poll"].flatMap { Int($0) } ?? 5)
        let password = self.settings["password"] ?? ""
        let agent = ApprovalAgent(
            fleet: client.makeFleet(configuration: fleetConfiguration),
            factors: { activation in try await activation.unlockKnowledge(password: password) }
        ) { _ in .approve }
        Self.say("approving")
        try await agent.run()
    }

    /// Freezes before the request that it has signed leaves, or between two changes of a turn.
    private func signFreezing() async throws {
        let store = self.makeStore()
        let id = self.settings["activation"] ?? ""
        if self.settings["freezes-before"] == "write" {
            try await store.withSigningTurn(of: id) { turn in
                try await turn.update { $0.counter = $0.counter.next() }
                Self.freeze()
                try await turn.update { $0.counter = $0.counter.next() }
            }
        } else {
            let transport = FreezingTransport(base: try CurlTransport())
            let activation = try await self.makeClient(store, transport).activation(id: id)
            try await activation.validate(.possessionAndKnowledge(password: self.settings["password"] ?? ""))
        }
        Self.say("signed")
    }

    /// Stops the whole process, after saying which one it is, until it is told to go on.
    fileprivate static func freeze() {
        self.say("\(getpid())")
        raise(SIGSTOP)
    }

    private func makeClient(
        _ store: ActivationStore,
        _ transport: (any HTTPTransport)? = nil
    ) throws -> MobileTokenClient {
        var configuration = MobileTokenClient.Configuration()
        configuration.store = store
        configuration.timeout = .seconds(2)
        configuration.userAgent = self.settings["name"] ?? "node"
        configuration.allowsInsecureHTTP = true  // the development server, at whatever address a test finds it
        if let transport { configuration.transport = transport }
        return try MobileTokenClient(
            baseURL: self.settings["url"] ?? "",
            sdkConfiguration: self.settings["sdk-configuration"] ?? "",
            configuration: configuration
        )
    }

    private func makeStore() -> ActivationStore {
        var configuration = PostgresConfiguration(
            connectionString: self.settings["database"] ?? "",
            sealingKeys: SealingKeyRing(current: .environment("SEALING_KEY"))
        )
        configuration.tls = .disabled
        configuration.schema = self.settings["schema"] ?? ""
        configuration.markFolder = self.settings["marks"] ?? ""
        configuration.nodeName = self.settings["name"] ?? ""
        configuration.poolSize = 4
        configuration.statementTimeout = .milliseconds(500)
        configuration.connectTimeout = .seconds(1)
        let death = Int(self.settings["death"] ?? "") ?? 2_000
        configuration.lifetimes = NodeLifetimes(heartbeat: .milliseconds(death / 4), death: .milliseconds(death))
        return ActivationStore.postgres(configuration)
    }
}

/// Freezes the process when a signed request is about to leave.
private struct FreezingTransport: HTTPTransport {
    let base: CurlTransport

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        if request.notAfter != nil { NodeExerciser.freeze() }
        return try await self.base.send(request)
    }
}
