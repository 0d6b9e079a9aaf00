import Foundation
import MobileTokenPostgres
import PostgresTestServer
import PowerAuth
import PowerAuthCrypto
import PowerAuthProtocol
import SQLiteDatabase
import PostgresDatabase
import MobileTokenReceipts

/// Receipts by the million: read, exported, sealed with another key and deleted, each a page or a batch at a time.
let receiptBenchmarks: [Benchmark] =
    [
        Benchmark("receipts.sqlite", "a million receipts in a file: read, exported, sealed anew, deleted") { settings in
            try await measureReceipts(of: SQLiteReceipts(), name: "receipts.sqlite", settings)
        }
    ]
    + (PostgresTestServer.isInstalled
        ? [
            Benchmark(
                "receipts.postgres",
                "a million receipts in PostgreSQL: read, exported, sealed anew, deleted"
            ) { settings in
                try await measureReceipts(of: PostgresReceipts(), name: "receipts.postgres", settings)
            }
        ] : [])

/// A store that can be filled past its rules.
private protocol ReceiptStage: Sendable {
    associatedtype Store: ActivationStore
    var store: Store { get }
    var folder: String { get }
    /// Adds copies of the first decision until there are so many entries.
    func fill(to count: Int) async throws
    func reseal() async throws
    /// The longest statement since the last call; `nil` where nobody keeps it.
    func longestStatement() async throws -> Duration?
    func close() async
}

private func measureReceipts(of stage: some ReceiptStage, name: String, _ settings: Settings) async throws -> [Row] {
    let count = settings.isQuick ? 100_000 : 1_000_000
    let source = try await StoredActivations(count: 1)
    let record = try unwrap(try await source.store.record(of: try unwrap(source.ids.first)))
    try await stage.store.insert(record)
    let intent = DecisionIntent(
        activationID: record.activationID,
        operationID: "37b9bb5c-6f6c-4a5c-b9c5-5b21f6d3a1ce",
        verdict: .approve,
        policy: DecisionIntent.Policy(name: "small payments", version: "7f3a"),
        isComplete: true,
        factors: .possessionKnowledge,
        shown: [UInt8](repeating: UInt8(ascii: "x"), count: 300),
        signed: "A1*A100CZK*ICZ2730300000001165254011"
    )
    let moves = try await stage.store.update(record.activationID, recording: intent) { record in
        record.counter = record.counter.next()
        return record.counterMoves
    }
    let outcome = DecisionOutcome(.accepted, localDate: Date(), serverDate: Date())
    try await stage.store.record(outcome, ofMove: moves, of: record.activationID)
    try await stage.fill(to: count)
    let archive = ReceiptArchive(folder: stage.folder + "/archive")
    let works: [(String, @Sendable () async throws -> Void)] = [
        (
            "read",
            {
                var (last, seen): (UInt64, Int) = (0, 0)
                while let end = try await stage.store.receiptEntries(after: last, limit: 256).last {
                    (last, seen) = (end.number, seen + 1)
                }
                try check(last == UInt64(count))
            }
        ),
        ("exported", { try check(try await archive.export(from: stage.store).unreadableNumbers.isEmpty) }),
        ("sealed anew", { try await stage.reseal() }),
        (
            "deleted",
            {
                let deleted = try await stage.store.deleteReceipts(exportedTo: archive, decidedBefore: .distantFuture)
                try check(deleted == count - 2)
            }
        ),
    ]
    var rows: [Row] = []
    for (detail, work) in works {
        let memory = PeakMemory()
        _ = try await stage.longestStatement()
        let start = ContinuousClock.now
        try await work()
        let elapsed = ContinuousClock.now - start
        func row(_ what: String, _ unit: Unit, _ value: Double, _ goals: [Goal] = []) -> Row {
            Row(name: name, detail: "\(detail), \(what)", unit: unit, figure: Figure(value), goals: goals, size: count)
        }
        rows.append(row("time", .milliseconds, elapsed / .milliseconds(1)))
        rows.append(row("growth of memory", .bytes, Double(memory.growth), [.atMost(64_000_000)]))
        if let longest = try await stage.longestStatement() {
            rows.append(row("longest statement", .milliseconds, longest / .milliseconds(1), [.atMost(1_000)]))
        }
    }
    await stage.close()
    return rows
}

/// The largest growth of the process since this was made, by the system's count.
private struct PeakMemory {
    private let before: Int

    init() {
        // Lets the system begin to count anew.
        try? Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs"))
        self.before = Self.bytes("VmRSS:")
    }

    var growth: Int { max(0, Self.bytes("VmHWM:") - self.before) }

    private static func bytes(_ name: String) -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
        return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) << 10
    }
}

private struct SQLiteReceipts: ReceiptStage {
    let folder = FileManager.default.temporaryDirectory.appending(path: "receipts-\(UUID().uuidString)").path
    let store: ActivationStore

    init() { self.store = ActivationStore.sqlite(path: self.folder + "/activations.sqlite") }

    func fill(to count: Int) async throws {
        let connection = try SQLiteConnection(path: self.store.name)
        for start in stride(from: 2, to: count, by: 20_000) {
            let end = min(start + 20_000, count)
            try connection.run(
                """
                WITH RECURSIVE n (i) AS (SELECT ? UNION ALL SELECT i + 1 FROM n WHERE i < ?)
                INSERT INTO receipt (number, activation_id, moves, tag, date, intent, outcome, weight, body, personal_data)
                SELECT i, activation_id, moves, tag, date, CASE i % 2 WHEN 0 THEN i - 1 END,
                    CASE i % 2 WHEN 1 THEN i + 1 END, weight, body, personal_data
                FROM n JOIN receipt ON number = 2 - i % 2
                """,
                [.integer(Int64(start + 1)), .integer(Int64(end))]
            )
        }
    }

    func reseal() async throws {
        try check(try await self.store.rotateSealingKey(to: SealingKey.file(self.folder + "/next.key")).isEmpty)
    }

    func longestStatement() async throws -> Duration? { nil }

    func close() async {
        await self.store.close()
        try? FileManager.default.removeItem(atPath: self.folder)
    }
}

private struct PostgresReceipts: ReceiptStage {
    let folder = FileManager.default.temporaryDirectory.appending(path: "receipts-\(UUID().uuidString)").path
    let store: ActivationStore
    private let server: PostgresTestServer
    private let key = SecureRandom.secret(Sealing.keyByteCount)
    private let log: StatementLog

    init() async throws {
        let settings = ["log_min_duration_statement = 5", "log_line_prefix = ''", "log_statement = none"]
        self.server = try await PostgresTestServer.start(.init(settings: settings, isDurable: true))
        self.log = StatementLog(path: self.server.folder + "/log")
        let key = self.key
        var configuration = PostgresConfiguration(
            connectionString: self.server.connectionString(),
            sealingKeys: SealingKeyRing(current: .closure { key })
        )
        configuration.tls = .disabled
        configuration.markFolder = self.folder
        self.store = ActivationStore.postgres(configuration)
    }

    func fill(to count: Int) async throws {
        let target = PostgresTarget(connectionString: self.server.connectionString(), tls: .disabled)
        var options = PostgresConnection.Options()
        options.searchPath = "mobile_token"
        options.statementTimeout = .seconds(60)
        let connection = try PostgresConnection(to: target, options: options)
        for start in stride(from: 2, to: count, by: 20_000) {
            try connection.run(
                """
                INSERT INTO receipt (id, activation_id, moves, tag, date, intent, outcome, weight, sealing_key, body,
                    personal_data)
                OVERRIDING SYSTEM VALUE
                SELECT i, activation_id, moves, tag, date, CASE i % 2 WHEN 0 THEN i - 1 END,
                    CASE i % 2 WHEN 1 THEN i + 1 END, weight, sealing_key, body, personal_data
                FROM generate_series($1::int8, $2::int8) AS i JOIN receipt ON id = 2 - i % 2
                """,
                [.integer(Int64(start + 1)), .integer(Int64(min(start + 20_000, count)))]
            )
        }
    }

    func reseal() async throws {
        let (old, new) = (self.key, SecureRandom.secret(Sealing.keyByteCount))
        try await self.store.use(SealingKeyRing(current: .closure { new }, earlier: [.closure { old }]))
        try await self.store.reseal()
    }

    func longestStatement() async throws -> Duration? { self.log.longest() }

    func close() async {
        await self.store.close()
        try? FileManager.default.removeItem(atPath: self.folder)
    }
}

/// The server's log of statements that took their time.
private final class StatementLog: Sendable {
    private let path: String

    init(path: String) { self.path = path }

    /// The longest since the last call; less than 5 ms counts for nothing. Empties the log.
    func longest() -> Duration {
        let text = (try? String(contentsOfFile: self.path, encoding: .utf8)) ?? ""
        truncate(self.path, 0)
        let durations = text.split(separator: "\n").compactMap { line -> Double? in
            guard let range = line.firstRange(of: "duration: ") else { return nil }
            return line[range.upperBound...].split(separator: " ").first.flatMap { Double($0) }
        }
        return .milliseconds(durations.max() ?? 0)
    }
}
