import Foundation
import Glibc
import HTTPClientTransport
import StoreTesting
import MobileToken
import PowerAuth
import Synchronization

/// A process that works on an activation store, or signs with it, so that the tests can have several of them, and kill them.
///
/// Arguments are `name=value`. The last line of the output is the outcome: `done`, or the code of an error.
@main
struct StoreExerciser {
    let settings: [String: String]

    static func main() async {
        let pairs = CommandLine.arguments.dropFirst().map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
        let exerciser = Self(
            settings: Dictionary(pairs.map { ($0[0], $0.count > 1 ? $0[1] : "") }, uniquingKeysWith: { $1 })
        )
        do {
            exerciser.restrictItself()
            try await exerciser.work()
            Self.say("done")
        } catch let error as MobileTokenError {
            Self.say("\(error)")
            Self.say("\(error.code)")
            exit(1)
        } catch {
            Self.say("\(error)")
            exit(2)
        }
    }

    /// Writes a line at once: `print` would keep it in a buffer, and lose it when the process is killed.
    private static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        guard write(STDOUT_FILENO, bytes, bytes.count) == bytes.count else { exit(3) }
    }

    private var activationID: String { self.settings["activation"] ?? "a" }

    private func number(_ name: String) -> Int? { self.settings[name].flatMap { Int($0) } }

    private func restrictItself() {
        if let mask = self.settings["umask"].flatMap({ mode_t($0, radix: 8) }) { umask(mask) }
        if let limit = self.number("file-size-limit") {
            signal(SIGXFSZ, SIG_IGN)
            var limits = rlimit(rlim_cur: rlim_t(limit), rlim_max: rlim_t(limit))
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limits)
        }
        if let user = self.number("user") { setuid(uid_t(user)) }
        let diesLater = self.settings["die-after-signatures"] != nil || self.settings["version"] != nil
        if !diesLater { self.startDying() }
    }

    /// Lets the process be killed so many microseconds from now, whatever it is doing then.
    private func startDying() {
        guard let microseconds = self.number("die-after") else { return }
        Thread.detachNewThread {
            usleep(UInt32(microseconds))
            kill(getpid(), SIGKILL)
        }
    }

    private func work() async throws {
        let store = ActivationStore.sqlite(path: self.settings["store"] ?? "")
        try await store.open()
        switch self.settings["action"] {
        case "insert":
            try await store.insert(ActivationStoreConformance.record(self.activationID))
            try await store.update(self.activationID) { $0.takeMove() }
        case "hold":
            try await store.withSigningTurn(of: self.activationID) { _ in
                Self.say("held")
                while true { pause() }
            }
        case "take":
            try await self.takeCounters(from: store)
            // Without tidying up, as a process that crashed.
            if self.settings["die"] != nil { kill(getpid(), SIGKILL) }
        case "sign":
            try await self.sign(with: store)
        case "agent":
            try await self.runAgent(store)
        case "activate", "upgrade", "change-password":
            try await self.change(store)
        default:
            break
        }
    }

    /// Takes counter values, and writes each to the journal once it is taken, as a request would be sent.
    private func takeCounters(from store: ActivationStore) async throws {
        let journal = open(self.settings["journal"] ?? "", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        for _ in 0..<(self.number("count") ?? .max) {
            let move = try await store.update(self.activationID) { $0.takeMove() }
            let line = Array("\(move)\n".utf8)
            guard write(journal, line, line.count) == line.count else { exit(3) }
        }
    }

    /// Sends one signed request after the other. The server knows from `User-Agent` which process each is from.
    private func sign(with store: ActivationStore) async throws {
        let activation = try await self.makeClient(store).activation(id: self.activationID)
        let factor = try await activation.unlockKnowledge(password: self.settings["password"] ?? "")
        if self.settings["waits"] != nil {
            Self.say("ready")
            _ = readLine()
        }
        for signed in 0..<(self.number("count") ?? .max) {
            if signed == self.number("die-after-signatures") { self.startDying() }
            try await activation.validate(.possessionAndKnowledge(unlocked: factor))
        }
    }

    /// Approves every login until it is killed, or dies on the way as told, at the decision after `survives=` others.
    private func runAgent(_ store: ActivationStore) async throws {
        var fleetConfiguration = OperationsFleet.Configuration()
        fleetConfiguration.pollInterval = .seconds(5)
        fleetConfiguration.random = { 0 }
        let password = self.settings["password"] ?? ""
        let agent = ApprovalAgent(
            fleet: try self.makeClient(store).makeFleet(configuration: fleetConfiguration),
            factors: { activation in try await activation.unlockKnowledge(password: password) }
        ) { review in review.operation.name == "login" ? .approve : .deferToPeople }
        try await agent.run()
    }

    /// Makes one change in which client and server must agree, and is killed meanwhile or waits for it.
    private func change(_ store: ActivationStore) async throws {
        let client = try self.makeClient(store)
        let password = SecretBytes(utf8: self.settings["password"] ?? "")
        self.startDying()
        switch self.settings["action"] {
        case "activate":
            _ = try await client.activate(code: self.settings["code"] ?? "", password: password)
        case "upgrade":
            try await client.activation(id: self.activationID).upgrade(password: password)
        default:
            let new = SecretBytes(utf8: self.settings["new-password"] ?? "")
            try await client.activation(id: self.activationID).changePassword(from: password, to: new)
        }
        Self.say("changed")
        while true { pause() }
    }

    private func makeClient(_ store: ActivationStore) throws -> MobileTokenClient {
        var configuration = MobileTokenClient.Configuration()
        configuration.store = store
        if let dies = self.settings["dies"] {
            configuration.transport = DyingTransport(
                base: try CurlTransport(),
                path: self.settings["dies-at"] ?? "/operation/authorize",
                diesBefore: dies == "before",
                survives: self.number("survives") ?? 0
            )
        }
        configuration.userAgent = "\(getpid())"
        configuration.timeout = .seconds(3)  // on this machine nothing is on its way for longer
        if let version = self.settings["version"].flatMap(ProtocolVersion.init(rawValue:)) {
            configuration.version = version
        }
        configuration.suite = .p384  // which every machine has
        return try MobileTokenClient(
            baseURL: self.settings["url"] ?? "",
            sdkConfiguration: self.settings["sdk-configuration"] ?? "",
            configuration: configuration
        )
    }
}

/// Kills the process around a request.
private final class DyingTransport: HTTPTransport {
    private let base: CurlTransport
    private let path: String
    private let diesBefore: Bool
    /// The number of requests to the path that are still let through.
    private let left: Atomic<Int>

    init(base: CurlTransport, path: String, diesBefore: Bool, survives: Int) {
        (self.base, self.path, self.diesBefore) = (base, path, diesBefore)
        self.left = Atomic(survives)
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard request.url.hasSuffix(self.path), self.left.subtract(1, ordering: .relaxed).newValue < 0 else {
            return try await self.base.send(request)
        }
        if !self.diesBefore { _ = try await self.base.send(request) }
        kill(getpid(), SIGKILL)
        throw CancellationError()
    }
}
