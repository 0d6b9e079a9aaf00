import Foundation
import Glibc
import MobileToken
import MobileTokenEmulator
import MobileTokenPostgres
import MobileTokenTesting
import PostgresTestServer
import PowerAuth
import TestSupport
import Testing

/// Three processes that approve together, and everything that may happen to them.
@Suite(.timeLimit(.minutes(6)), .enabled(if: PostgresTestServer.isInstalled, "no PostgreSQL server is installed"))
struct NodeTroubleTests {
    @Test func whatIsOfferedIsApprovedOnceWhateverHappens() async throws {
        let server = try await PostgresTestServer.start(.init(isDurable: true))
        try await withEmulator { emulator in
            try await withNodes(server) { nodes in
                let stage = try await Stage(emulator, nodes)
                try await stage.offer("calm") {}
                try await stage.offer("kill -9") {
                    stage.nodes[0].process?.send(signal: SIGKILL)
                    try await stage.nodes[0].start(stage)
                }
                try await stage.offer("SIGSTOP for longer than a lifetime") {
                    stage.nodes[1].process?.send(signal: SIGSTOP)
                }
                stage.nodes[1].process?.send(signal: SIGCONT)
                try await stage.offer("a machine that hears nothing") { stage.nodes[2].proxy.mode = .freeze }
                stage.nodes[2].proxy.mode = .pass
                stage.nodes[2].proxy.cut()
                try await stage.offer("replies that are lost") {
                    let proxy = stage.nodes[0].proxy
                    let (lost, connections) = (proxy.lostByteCount, proxy.connectionCount)
                    proxy.mode = .loseReplies
                    await until { proxy.lostByteCount > lost && proxy.connectionCount > connections }
                    proxy.mode = .pass
                    proxy.cut()
                }
                try await stage.offer("connections that are cut again and again") {
                    for _ in 0..<20 {
                        let connections = stage.nodes.map(\.proxy.connectionCount)
                        for node in stage.nodes { node.proxy.cut() }
                        await until { stage.nodes.map(\.proxy.connectionCount) != connections }
                    }
                }
                try await stage.offer("a database that crashes") {
                    try await server.crash()
                    try await server.start()
                }
                try await stage.offer("a database that is frozen") {
                    let connections = stage.nodes.map(\.proxy.connectionCount)
                    try server.freeze()
                    // Each node waits in vain, and tries another connection.
                    await until { zip(stage.nodes, connections).allSatisfy { $0.proxy.connectionCount > $1 } }
                    try server.thaw()
                }
                try await stage.check()
            }
        }
    }

    /// libpq asks for addresses in a way that blocks a thread. It must not be one that others wait for.
    @Test(.enabled(if: geteuid() == 0, "only root can give a process another name server"))
    func aNameThatIsNeverResolvedEndsInTime() async throws {
        let folder = try TemporaryFolder()
        let nameServer = try SilentNameServer()
        let file = folder.path + "/resolv.conf"
        try Data("nameserver \(SilentNameServer.address)\noptions timeout:30 attempts:5\n".utf8)
            .write(to: URL(filePath: file))
        let outcome = try await ChildProcess.run(
            "unshare",
            [
                "--mount", "sh", "-c", "mount --bind \"$0\" /etc/resolv.conf && exec \"$@\"", file,
                ChildProcess.besideTests("NodeExerciser"), "name=node", "database=host=db.example.com user=bot",
                "schema=bot", "marks=\(folder.path)", "url=https://bank.example.com", "sdk-configuration=",
            ],
            environment: ["SEALING_KEY": PostgresStoreFixture.encodedKey, "HOME": folder.path, "PATH": "/usr/bin:/bin"]
        )
        #expect(nameServer.wasAsked)
        #expect(outcome.lines.first?.contains("storeUnreachable") == true, "\(outcome)")
        #expect(outcome.exitCode == 1)
    }
}

/// Takes questions for addresses, and answers none.
private final class SilentNameServer {
    static let address = "127.0.0.77"
    private let descriptor: Int32

    init() throws {
        self.descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(53).bigEndian
        inet_pton(AF_INET, Self.address, &address.sin_addr)
        let status = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(self.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    deinit { close(self.descriptor) }

    var wasAsked: Bool {
        var byte: UInt8 = 0
        return recv(self.descriptor, &byte, 1, Int32(MSG_DONTWAIT)) > 0
    }
}

/// A bank, its customers, and the nodes that approve for them.
private final class Stage: Sendable {
    static let password = "correct horse"
    /// 300 unless told otherwise, such as `MOBILE_TOKEN_TROUBLE=2000`.
    static let customerCount = ProcessInfo.processInfo.environment["MOBILE_TOKEN_TROUBLE"].flatMap { Int($0) } ?? 300

    let emulator: Emulator
    let store: PostgresActivationStore
    let fixture: PostgresStoreFixture
    let nodes: [TroubledNode]
    private let operations = Shared<[String]>([])
    /// What went on, and the signatures that the bank refused meanwhile.
    private let table = Shared<[(trouble: String, refusals: [String])]>([])

    init(_ emulator: Emulator, _ fixture: PostgresStoreFixture) async throws {
        self.emulator = emulator
        self.fixture = fixture
        self.store = fixture.node("observer")
        let client = try emulator.makeClient { [store] in $0.store = store }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<16 {
                group.addTask {
                    for number in stride(from: lane, to: Self.customerCount, by: 16) {
                        let user = "user \(number)"
                        _ = try await emulator.makeActivation(user: user, password: Self.password, client: client)
                    }
                }
            }
            try await group.waitForAll()
        }
        self.nodes = try (0..<3).map { try TroubledNode("node \($0)", fixture.server.port) }
        for node in self.nodes { try await node.start(self) }
    }

    /// Offers an operation to each customer, does something bad, and waits until all are approved.
    func offer(_ trouble: String, _ inflict: () async throws -> Void) async throws {
        let position = await self.emulator.journalPosition
        var ids: [String] = []
        for number in 0..<Self.customerCount {
            ids.append(try await self.emulator.cloud.createOperation("login", userID: "user \(number)").id)
        }
        try await inflict()
        let statuses = await self.decisions(on: ids)
        #expect(statuses == ["APPROVED": ids.count], "\(trouble)")
        let signed = await self.emulator.journal(since: position).filter(\.isSigned)
        self.operations.update { $0 += ids }
        let refusals = signed.compactMap { entry in
            entry.refusal.map { "\($0) (\(entry.headers.first { $0.name.lowercased() == "user-agent" }?.value ?? ""))" }
        }
        self.table.update { $0.append((trouble, refusals)) }
    }

    /// Waits until operations are decided, and counts how.
    private func decisions(on ids: [String]) async -> [String: Int] {
        let events = self.emulator.events()  // before looking, so that none is missed in between
        var open = Set(ids)
        var counts: [String: Int] = [:]
        func note(_ id: String, _ status: String) {
            if status != "PENDING", open.remove(id) != nil { counts[status, default: 0] += 1 }
        }
        for operation in await self.emulator.operations() { note(operation.id, operation.status) }
        guard !open.isEmpty else { return counts }
        for await event in events where event.kind == .operation {
            note(event.id ?? "", event.status ?? "")
            if open.isEmpty { break }
        }
        return counts
    }

    func check() async throws {
        for node in self.nodes { node.process?.send(signal: SIGTERM) }
        for (trouble, refusals) in self.table.value {
            print("\(trouble): \(refusals.isEmpty ? "nothing refused" : refusals.joined(separator: ", "))")
        }
        // Each operation was carried out once, as the receipts say as well.
        var accepted: [String: Int] = [:]
        for receipt in try await self.receipts() {
            guard let id = receipt.intent.personalData?.operationID else { continue }
            if receipt.outcome?.result == .accepted || receipt.outcome?.result == .inferred {
                accepted[id, default: 0] += 1
            }
        }
        #expect(accepted.values.allSatisfy { $0 == 1 })
        // One signature in vain for each unclean end, at most, and no activation blocked.
        let activations = await self.emulator.activations()
        #expect(activations.count == Self.customerCount)
        #expect(activations.allSatisfy { $0.status == "ACTIVE" && $0.failedAttempts <= 1 })
    }

    private func receipts() async throws -> [DecisionReceipt] {
        var all: [DecisionReceipt] = []
        while true {
            let page = try await self.store.receipts(of: nil, after: all.last?.number ?? 0, limit: 100)
            guard !page.isEmpty else { return all }
            all += page
        }
    }
}

/// A process, and what stands between it and the database.
private final class TroubledNode: Sendable {
    let name: String
    let proxy: FaultProxy
    private let current = Shared<ChildProcess?>(nil)

    init(_ name: String, _ port: Int) throws {
        self.name = name
        self.proxy = try FaultProxy(to: port)
    }

    var process: ChildProcess? { self.current.value }

    func start(_ stage: Stage) async throws {
        let process = try ChildProcess(
            ChildProcess.besideTests("NodeExerciser"),
            [
                "name=\(self.name)", "database=\(stage.fixture.server.connectionString(through: self.proxy))",
                "schema=\(stage.fixture.schema)", "marks=\(stage.fixture.folder.path)/\(self.name)",
                "url=\(stage.emulator.baseURL)", "sdk-configuration=\(stage.emulator.sdkConfiguration)",
                "password=\(Stage.password)", "death=2500",
            ],
            environment: ["SEALING_KEY": PostgresStoreFixture.encodedKey, "HOME": stage.fixture.folder.path]
        )
        self.current.value = process
        #expect(await process.nextLine() == "approving")
    }
}
