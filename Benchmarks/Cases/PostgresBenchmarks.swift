import Foundation
import MobileTokenPostgres
import PostgresDatabase
import PostgresTestServer
import PowerAuth
import PowerAuthCrypto
import PowerAuthProtocol

/// The cost of a signature in PostgreSQL, on a server of its own whose commits reach the disk. Empty without such a server.
let postgresBenchmarks: [Benchmark] =
    PostgresTestServer.isInstalled
    ? [
        Benchmark(
            "postgres.move",
            "activations of one node take turns, and move their counters durably: 1, 8 and 32 at once"
        ) { settings in
            let stage = try await PostgresStage()
            var rows: [Row] = []
            for lanes in [1, 8, 32] { rows.append(try await stage.move(lanes: lanes, settings)) }
            await stage.close()
            return rows
        },
        Benchmark(
            "postgres.approve",
            "a counter moves with the intent of a decision, and its outcome follows, 32 at once",
            unit: .perSecond
        ) {
            let stage = try await PostgresStage()
            return Scenario(
                Subject("with its receipt", approvingWith: stage.ids, lanes: 32) { _ in stage.store },
                baselines: [stage.turns("the counter alone", lanes: 32)]
            ) { await stage.close() }
        },
        Benchmark("postgres.limited", "the same with four limits, which all share or each has", unit: .perSecond) {
            let stage = try await PostgresStage()
            return Scenario(
                Subject("with four limits", approvingWith: stage.ids, lanes: 32, limits: 4) { _ in stage.store },
                baselines: [Subject("without", approvingWith: stage.ids, lanes: 32) { _ in stage.store }]
            ) { await stage.close() }
        },
        postgresFleetBenchmark,
    ] : []

/// A server, a store with activations, and a table of counters that nothing guards.
private struct PostgresStage {
    private static let connectionCount = 32

    let server: PostgresTestServer
    let store: ActivationStore
    let ids: [String]
    /// The same activations in a file, for comparison.
    private let file: ActivationStore
    private let folder: URL

    init() async throws {
        let server = try await PostgresTestServer.start(.init(settings: ["max_connections = 200"], isDurable: true))
        let key = SecureRandom.secret(Sealing.keyByteCount)
        var configuration = PostgresConfiguration(
            connectionString: server.connectionString(),
            sealingKeys: SealingKeyRing(current: .closure { key })
        )
        configuration.tls = .disabled
        configuration.poolSize = Self.connectionCount
        self.folder = FileManager.default.temporaryDirectory.appending(path: "postgres-\(UUID().uuidString)")
        configuration.markFolder = self.folder.path
        self.server = server
        self.store = ActivationStore.postgres(configuration)
        self.ids = try await StoredActivations(count: 32, in: self.store).ids
        self.file = ActivationStore.sqlite(path: self.folder.path + "/activations.sqlite")
        for id in self.ids { try await self.file.insert(try unwrap(try await self.store.record(of: id))) }
        try await Self.copyTables(server)
    }

    /// Makes copies of the tables for `pgbench`, whose values nobody could open.
    private static func copyTables(_ server: PostgresTestServer) async throws {
        let pool = PostgresPool(size: 1) {
            PostgresTarget(connectionString: server.connectionString(), tls: .disabled)
        }
        try await pool.withConnection { connection in
            try connection.run("CREATE SCHEMA bare")
            for table in ["activation", "field"] {
                try connection.run(
                    "CREATE TABLE bare.\(table) (LIKE mobile_token.\(table) INCLUDING ALL) WITH (fillfactor = 70)"
                )
                try connection.run(
                    "INSERT INTO bare.\(table) OVERRIDING SYSTEM VALUE SELECT * FROM mobile_token.\(table)"
                )
            }
        }
        await pool.closeIdleConnections()
    }

    func close() async {
        await self.store.close()
        await self.file.close()
        try? FileManager.default.removeItem(at: self.folder)
    }

    // MARK: Moves

    /// Measures moves, the same statement sent by `pgbench`, and moves in a file, by turns.
    func move(lanes: Int, _ settings: Settings) async throws -> Row {
        let subjects = [self.turns("PostgreSQL", lanes: lanes), self.updates("SQLite, on the same disk", lanes: lanes)]
        let bench = PgBench(server: self.server, script: Self.statement)
        var rates = [[Double]](repeating: [], count: 3)
        var processorTimes = [[Double]](repeating: [], count: 2)
        for subject in subjects { try await subject.run(lanes * 10) }
        // As many as make a second.
        var count = Int(try bench.rate(clients: lanes, count: lanes * 50))
        for _ in 0..<settings.rounds(quick: 3, thorough: 7) {
            for (index, subject) in subjects.enumerated() {
                // Long steps: at the end of each the lanes wait for the last of them, which those of `pgbench` do not.
                let sample = try await subject.sample(lasting: .seconds(1), step: lanes * 50)
                rates[index].append(sample.rate)
                processorTimes[index].append(sample.processorNanoseconds)
            }
            rates[2].append(try bench.rate(clients: lanes, count: count))
            count = Int(rates[2].last ?? 1)
        }
        return Row(
            name: "postgres.move",
            detail: "\(lanes) at once",
            unit: .perSecond,
            figure: Figure(samples: rates[0]),
            processorTime: Figure(samples: processorTimes[0]).median,
            baselines: [
                Row.Baseline(name: "pgbench, the same statement", figure: Figure(samples: rates[2])),
                Row.Baseline(
                    name: subjects[1].name,
                    figure: Figure(samples: rates[1]),
                    processorTime: Figure(samples: processorTimes[1]).median
                ),
            ],
            goals: [.atLeast(0.7, timesBaseline: "pgbench, the same statement")]
        )
    }

    /// Writes as a move does: the row of the activation, and the sealed counter.
    private static let statement = """
        \\set slot :client_id + 1
        WITH moved AS (
            UPDATE bare.activation SET tag = tag + 1, incarnation = incarnation, sealing_key = sealing_key
            WHERE slot = :slot RETURNING slot
        ), written AS (
            INSERT INTO bare.field (slot, name, is_sealed, value)
            SELECT moved.slot, change.* FROM moved,
                unnest(ARRAY['counter'], ARRAY[true], ARRAY[decode(repeat('2a', 62), 'hex')]) AS change
            ON CONFLICT (slot, name) DO UPDATE SET is_sealed = excluded.is_sealed, value = excluded.value
        )
        SELECT EXISTS (SELECT FROM moved);

        """

    func turns(_ name: String, lanes: Int) -> Subject {
        Subject(name, lanes: lanes) { [store, ids] lane in
            try await store.withSigningTurn(of: ids[lane]) { turn in
                try await turn.update { $0.counter = $0.counter.next() }
            }
        }
    }

    private func updates(_ name: String, lanes: Int) -> Subject {
        Subject(name, lanes: lanes) { [file, ids] lane in
            try await file.withSigningTurn(of: ids[lane]) { turn in
                try await turn.update { $0.counter = $0.counter.next() }
            }
        }
    }
}

extension Subject {
    /// Repeats `body` in lanes, each of which is told its number.
    fileprivate init(_ name: String, lanes: Int, _ body: @escaping @Sendable (Int) async throws -> Void) {
        self.init(name) { count in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for lane in 0..<lanes {
                    let share = count / lanes + (lane < count % lanes ? 1 : 0)
                    group.addTask { for _ in 0..<share { try await body(lane) } }
                }
                try await group.waitForAll()
            }
        }
        self.leastCount = lanes * 4
    }

    /// Moves counters with the intent of a decision, whose outcome follows: each lane with an activation and a store of its own.
    init(
        _ name: String,
        approvingWith ids: [String],
        lanes: Int,
        limits: Int = 0,
        in store: @escaping @Sendable (_ lane: Int) -> ActivationStore
    ) {
        let outcome = DecisionOutcome(.accepted, localDate: Date(), serverDate: Date())
        self.init(name, lanes: lanes) { lane in
            var intent = DecisionIntent(
                activationID: ids[lane],
                operationID: "37b9bb5c-6f6c-4a5c-b9c5-5b21f6d3a1ce",
                verdict: .approve,
                policy: DecisionIntent.Policy(name: "small payments", version: "7f3a"),
                isComplete: true,
                factors: .possessionKnowledge,
                shown: [UInt8](repeating: UInt8(ascii: "x"), count: 1_000),
                signed: "A1*A100CZK*ICZ2730300000001165254011"
            )
            intent.demands = (0..<limits).map { number in
                LimitDemand(
                    limit: "\(number)",
                    // The first is one that all share.
                    key: LimitDemand.key(of: "\(number)", number == 0 ? [] : Array(ids[lane].utf8), currency: nil),
                    currency: nil,
                    amount: LimitDemand.scale,
                    allowed: .max / 2,
                    window: .rolling(minutes: 24 * 60),
                    includesPeople: false
                )
            }
            let dated = intent.dated(Date(), serverDate: nil)
            let store = store(lane)
            try await store.withSigningTurn(of: ids[lane]) { turn in
                let moves = try await turn.update(recording: dated) { record in
                    record.counter = record.counter.next()
                    return record.counterMoves
                }
                try await store.record(outcome, ofMove: moves, of: ids[lane])
            }
        }
    }

    /// Repeats until a time has passed.
    fileprivate func sample(
        lasting duration: Duration,
        step: Int
    ) async throws -> (rate: Double, processorNanoseconds: Double) {
        let (start, processorTime) = (ContinuousClock.now, Measurement.processorNanoseconds)
        var count = 0
        while ContinuousClock.now - start < duration {
            try await self.run(step)
            count += step
        }
        let elapsed = (ContinuousClock.now - start) / .seconds(1)
        return (Double(count) / elapsed, (Measurement.processorNanoseconds - processorTime) / Double(count))
    }
}
