import Foundation
import Glibc
import MobileToken
import MobileTokenPostgres
import MobileTokenTesting
import PostgresTestServer
import PowerAuth
import TestSupport
import Testing

/// A bank, its customers, and the nodes that approve for them.
final class Stage: Sendable {
    static let password = "correct horse"
    /// 100 unless told otherwise, such as `MOBILE_TOKEN_TROUBLE=2000`.
    static let customerCount = ProcessInfo.processInfo.environment["MOBILE_TOKEN_TROUBLE"].flatMap { Int($0) } ?? 100

    let emulator: Emulator
    let store: ActivationStore
    let fixture: PostgresStoreFixture
    let nodes: [TroubledNode]
    private let customerCount: Int
    /// Between two polls, in seconds: many customers must not keep the machine from answering within the nodes' timeouts.
    let pollInterval: Int
    private let operations = Shared<[String]>([])
    /// The troubles, each with the signatures that the bank refused meanwhile.
    private let table = Shared<[(trouble: String, refusals: [String])]>([])

    /// - Parameter network: Between the nodes and everything else, a machine a node.
    init(
        _ emulator: Emulator,
        _ fixture: PostgresStoreFixture,
        customerCount: Int = Stage.customerCount,
        network: StarNetwork? = nil
    ) async throws {
        self.emulator = emulator
        self.fixture = fixture
        self.customerCount = customerCount
        self.pollInterval = max(5, customerCount / 60)
        self.store = fixture.node("observer")
        let client = try emulator.makeClient { [store] in
            $0.store = store
            $0.timeout = .seconds(120)  // customers are made as fast as the machine can
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<16 {
                group.addTask {
                    for number in stride(from: lane, to: customerCount, by: 16) {
                        let user = "user \(number)"
                        _ = try await emulator.makeActivation(user: user, password: Self.password, client: client)
                    }
                }
            }
            try await group.waitForAll()
        }
        self.nodes = try (0..<3).map { number in
            let name = "node \(number)"
            guard let network else {
                return TroubledNode(name, emulator.baseURL, try FaultProxy(to: fixture.server.port))
            }
            return try TroubledNode(name, on: network.machines[number], of: network, emulator, fixture.server)
        }
        for node in self.nodes { try await node.start(self) }
    }

    /// Offers an operation to each customer, does something bad, and waits until all are approved.
    func offer(_ trouble: String, _ inflict: () async throws -> Void) async throws {
        let position = await self.emulator.journalPosition
        var ids: [String] = []
        for number in 0..<self.customerCount {
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

    /// The nodes that the database takes for alive.
    func namesOfNodes() async throws -> Set<String> { Set(try await self.store.nodes().map(\.name)) }

    /// Waits until operations are decided, and counts how.
    private func decisions(on ids: [String]) async -> [String: Int] {
        let events = self.emulator.events()  // before looking, so that none is missed in between
        var open = Set(ids)
        var counts: [String: Int] = [:]
        func note(_ id: String, _ status: String) {
            if status != "PENDING", open.remove(id) != nil { counts[status, default: 0] += 1 }
        }
        for operation in await self.emulator.operations() { note(operation.id, operation.status.rawValue) }
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
        #expect(activations.count == self.customerCount)
        #expect(activations.allSatisfy { $0.status == .active && $0.failedAttempts <= 1 })
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

/// A process, and what stands between it and the database, or between it and all others.
final class TroubledNode: Sendable {
    let name: String
    let proxy: FaultProxy
    /// The words before its command, which enter the namespace where it runs.
    private let entry: [String]
    private let host: String
    private let bankURL: String
    /// Carries what a namespace sends to the bank.
    private let bank: FaultProxy?
    private let current = Shared<ChildProcess?>(nil)

    init(_ name: String, _ bankURL: String, _ proxy: FaultProxy) {
        self.name = name
        self.proxy = proxy
        (self.entry, self.host) = ([], "127.0.0.1")
        (self.bankURL, self.bank) = (bankURL, nil)
    }

    init(
        _ name: String,
        on machine: StarNetwork.Machine,
        of network: StarNetwork,
        _ emulator: Emulator,
        _ server: PostgresTestServer
    ) throws {
        self.name = name
        self.proxy = try FaultProxy(to: server.port, in: network.hub)
        (self.entry, self.host) = (machine.namespace.entry, machine.hubAddress)
        let bank = try FaultProxy(to: Int(emulator.port), in: network.hub)
        self.bankURL = "http://\(machine.hubAddress):\(bank.port)/enrollment-server"
        self.bank = bank
    }

    var process: ChildProcess? { self.current.value }

    func start(_ stage: Stage) async throws {
        let database = stage.fixture.server.connectionString(through: self.proxy, at: self.host)
        let words =
            self.entry + [
                try ChildProcess.besideTests("NodeExerciser"),
                "name=\(self.name)", "database=\(database)",
                "schema=\(stage.fixture.schema)", "marks=\(stage.fixture.folder.path)/\(self.name)",
                "url=\(self.bankURL)", "sdk-configuration=\(stage.emulator.sdkConfiguration)",
                "password=\(Stage.password)", "death=2500",
                "poll=\(stage.pollInterval)", "ends-with-input",
            ]
        let process = try ChildProcess(
            words[0],
            Array(words.dropFirst()),
            environment: [
                "SEALING_KEY": PostgresStoreFixture.encodedKey, "HOME": stage.fixture.folder.path,
                "PATH": "/usr/bin:/bin",
            ]
        )
        self.current.value = process
        #expect(await process.nextLine() == "approving")
    }
}
