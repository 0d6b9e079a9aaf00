import ApprovalTesting
import Foundation
import Glibc
import MobileTokenApprovals
import MobileTokenPostgres

/// A process that asks and acts until it is killed, so that the tests can have several of them.
///
/// Arguments are `name=value`: `ledger` (a file) or `database` and `schema`, `url`, `user`, `password`, `id`, `log` (a file that gets a line for each action), and where it kills itself:
/// `before=STATE` and `after=STATE` of a write, `action=begin` or `action=end`, `die-after=MICROSECONDS`; and how far its clock is ahead:
/// `ahead=SECONDS`. The last line of the output is how it went.
@main
struct ApprovalExerciser {
    let settings: [String: String]

    static func main() async {
        let pairs = CommandLine.arguments.dropFirst().map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
        let settings = Dictionary(pairs.map { ($0[0], $0.count > 1 ? $0[1] : "") }, uniquingKeysWith: { $1 })
        do {
            try await Self(settings: settings).work()
            Self.say("done")
        } catch let error as ApprovalError {
            Self.say("\(error.code)\(error.performance.map { " " + $0.rawValue } ?? "")")
        } catch {
            Self.say("\(error)")
        }
    }

    private static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        guard write(STDOUT_FILENO, bytes, bytes.count) == bytes.count else { exit(3) }
    }

    private static func die() { kill(getpid(), SIGKILL) }

    private func work() async throws {
        if let microseconds = self.settings["die-after"].flatMap({ UInt32($0) }) {
            Thread.detachNewThread {
                usleep(microseconds)
                Self.die()
            }
        }
        let plain = self.ledger
        let driver = StoppingLedger(plain.driver)
        if let state = self.settings["before"].flatMap(ApprovalState.init) { driver.set(.before(state)) { Self.die() } }
        if let state = self.settings["after"].flatMap(ApprovalState.init) { driver.set(.after(state)) { Self.die() } }
        var cloudConfiguration = CloudClient.Configuration()
        cloudConfiguration.allowsInsecureHTTP = true
        let cloud = try CloudClient(
            baseURL: self.settings["url"] ?? "",
            credentials: .init(user: self.settings["user"] ?? "", password: self.settings["password"] ?? ""),
            configuration: cloudConfiguration
        )
        var configuration = ApprovalDesk.Configuration()
        configuration.limits.questionInterval = .zero
        configuration.limits.openQuestions = 1_000
        configuration.limits.shortestPoll = .milliseconds(10)
        configuration.limits.longestPoll = .milliseconds(50)
        configuration.limits.requestsPerSecond = 1_000
        if let seconds = self.settings["ahead"].flatMap(Double.init) {
            configuration.now = { Date(timeIntervalSinceNow: seconds) }
        }
        let desk = try await ApprovalDesk(
            audience: "kill",
            cloud: cloud,
            ledger: ApprovalLedger(driver: driver, sealing: plain.sealing),
            configuration: configuration
        )
        let request = ApprovalRequest(
            id: self.settings["id"] ?? "",
            from: .user("alice"),
            template: ApprovalTemplate("deploy", signs: "A9*R${binding}"),
            action: .bytes(Array((self.settings["id"] ?? "").utf8)),
            expires: .seconds(300)
        )
        try await desk.perform(request) { approval in
            if self.settings["action"] == "begin" { Self.die() }
            try self.act(approval)
            if self.settings["action"] == "end" { Self.die() }
        }
    }

    private var ledger: ApprovalLedger {
        guard let database = self.settings["database"] else { return .sqlite(path: self.settings["ledger"] ?? "") }
        // The key that the tests have.
        let key = SealingKey.closure { SecretBytes(copying: [UInt8](repeating: 7, count: 32)) }
        var configuration = PostgresConfiguration(
            connectionString: database,
            sealingKeys: SealingKeyRing(current: key)
        )
        configuration.tls = .disabled
        configuration.schema = self.settings["schema"] ?? ""
        configuration.lifetimes = NodeLifetimes(heartbeat: .milliseconds(500), death: .milliseconds(2_500))
        return .postgres(configuration)
    }

    /// One line in one write: the name of the question, and the operation that was approved.
    private func act(_ approval: ApprovalDesk.Approval) throws {
        let descriptor = open(self.settings["log"] ?? "", O_WRONLY | O_APPEND | O_CREAT, 0o600)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown) }
        defer { close(descriptor) }
        let name = String(decoding: approval.action, as: UTF8.self)
        let bytes = Array("\(name) \(approval.approvals.first?.operationID ?? "")\n".utf8)
        guard write(descriptor, bytes, bytes.count) == bytes.count else { throw CocoaError(.fileWriteUnknown) }
    }
}
