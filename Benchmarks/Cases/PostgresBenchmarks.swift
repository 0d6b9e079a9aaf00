import Foundation
import MobileTokenPostgres
import PostgresDatabase
import PostgresTestServer
import PowerAuth
import PowerAuthCrypto
import PowerAuthProtocol

/// What a signature costs in PostgreSQL, on a server of its own whose commits reach the disk. None without such a server.
let postgresBenchmarks: [Benchmark] =
    PostgresTestServer.isInstalled
    ? [
        Benchmark(
            "postgres.move",
            "32 activations of one node take turns, and move their counters durably",
            unit: .perSecond
        ) {
            let stage = try await PostgresStage()
            return Scenario(
                stage.turns("32 at once", lanes: 32),
                baselines: [
                    stage.bareUpdates("a bare UPDATE of one row, 32 at once", lanes: 32),
                    stage.turns("one at a time", lanes: 1),
                    stage.bareUpdates("a bare UPDATE, one at a time", lanes: 1),
                ]
            ) { await stage.store.close() }
        },
        Benchmark(
            "postgres.approve",
            "a counter moves with the intent of a decision, and its outcome follows, 32 at once",
            unit: .perSecond,
            goals: [.atLeast(0.5, timesBaseline: "the counter alone")]
        ) {
            let stage = try await PostgresStage()
            return Scenario(
                stage.decisions("with its receipt", lanes: 32),
                baselines: [stage.turns("the counter alone", lanes: 32)]
            ) { await stage.store.close() }
        },
    ] : []

/// A server, a store with activations, and a table of counters that nothing guards.
private struct PostgresStage {
    private static let connectionCount = 32

    let server: PostgresTestServer
    let store: PostgresActivationStore
    let ids: [String]
    private let pool: PostgresPool

    init() async throws {
        let server = try await PostgresTestServer.start(.init(settings: ["max_connections = 200"], isDurable: true))
        let key = SecureRandom.secret(Sealing.keyByteCount)
        var configuration = PostgresActivationStore.Configuration(
            connectionString: server.connectionString(),
            sealingKeys: SealingKeyRing(current: .closure { key })
        )
        configuration.tls = .disabled
        configuration.poolSize = Self.connectionCount
        configuration.markFolder =
            FileManager.default.temporaryDirectory.appending(path: "marks-\(UUID().uuidString)").path
        self.server = server
        self.store = PostgresActivationStore(configuration)
        self.ids = try await StoredActivations(count: 32, in: self.store).ids
        self.pool = PostgresPool(size: Self.connectionCount) {
            PostgresTarget(connectionString: server.connectionString(), tls: .disabled)
        }
        try await self.pool.withConnection { connection in
            try connection.run("CREATE TABLE counter (id int8 PRIMARY KEY, value int8 NOT NULL) WITH (fillfactor = 50)")
            try connection.run("INSERT INTO counter SELECT generate_series(0, 31), 0")
        }
    }

    /// Repeats `body` in lanes, each of which is told its number.
    private static func subject(
        _ name: String,
        lanes: Int,
        _ body: @escaping @Sendable (Int) async throws -> Void
    ) -> Subject {
        Subject(
            name,
            repeating: { count in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for lane in 0..<lanes {
                        let share = count / lanes + (lane < count % lanes ? 1 : 0)
                        group.addTask { for _ in 0..<share { try await body(lane) } }
                    }
                    try await group.waitForAll()
                }
            }
        )
    }

    func turns(_ name: String, lanes: Int) -> Subject {
        Self.subject(name, lanes: lanes) { [store, ids] lane in
            try await store.withSigningTurn(of: ids[lane]) { turn in
                try await turn.update { $0.counter = $0.counter.next() }
            }
        }
    }

    func decisions(_ name: String, lanes: Int) -> Subject {
        let outcome = DecisionOutcome(.accepted, localDate: Date(), serverDate: Date())
        return Self.subject(name, lanes: lanes) { [store, ids] lane in
            let intent = DecisionIntent(
                activationID: ids[lane],
                operationID: "37b9bb5c-6f6c-4a5c-b9c5-5b21f6d3a1ce",
                verdict: .approve,
                policy: DecisionIntent.Policy(name: "small payments", version: "7f3a"),
                isComplete: true,
                factors: .possessionKnowledge,
                shown: [UInt8](repeating: UInt8(ascii: "x"), count: 1_000),
                signed: "A1*A100CZK*ICZ2730300000001165254011"
            )
            try await store.withSigningTurn(of: ids[lane]) { turn in
                let moves = try await turn.update(recording: intent) { record in
                    record.counter = record.counter.next()
                    return record.counterMoves
                }
                _ = await turn.record(outcome, ofMove: moves)
            }
        }
    }

    func bareUpdates(_ name: String, lanes: Int) -> Subject {
        Self.subject(name, lanes: lanes) { [pool] lane in
            try await pool.withConnection { connection in
                _ = try connection.run(
                    "UPDATE counter SET value = value + 1 WHERE id = $1",
                    [.integer(Int64(lane))]
                )
            }
        }
    }
}
