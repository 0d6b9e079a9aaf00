import Foundation
import MobileToken
import MobileTokenPostgres
import PostgresDatabase
import PostgresTestServer
import PowerAuth
import PowerAuthCrypto

/// Measures the load of nodes that poll and approve on the database, with one, two and three of them, which should cost the same.
let postgresFleetBenchmark = Benchmark(
    "postgres.fleet",
    "what the database does for polls and approvals, with 1, 2 and 3 nodes"
) { settings in
    let count = settings.isQuick ? 300 : 3_000
    var rows: [Row] = []
    for nodeCount in 1...3 {
        let nodes = try await PostgresNodes(nodeCount, activations: count)
        rows += try await nodes.polls(named: "lists stay the same", settings)
        rows += try await nodes.approvals(settings)
        if nodeCount == 1 { rows += try await nodes.sizes() }
        await nodes.close()
    }
    return rows
}

/// Nodes that share a database. All run in this process, so that its processor time is that of all.
private struct PostgresNodes {
    private static let interval = Duration.seconds(7)

    private let server: PostgresTestServer
    private let stores: [ActivationStore]
    private let activations: StoredActivations
    private let folder: URL

    init(_ count: Int, activations: Int) async throws {
        let server = try await PostgresTestServer.start(
            .init(
                settings: ["shared_preload_libraries = 'pg_stat_statements'", "max_connections = 200"],
                isDurable: true
            )
        )
        let folder = FileManager.default.temporaryDirectory.appending(path: "postgres-\(UUID().uuidString)")
        let key = SecureRandom.secret(Sealing.keyByteCount)
        self.server = server
        self.folder = folder
        self.stores = (1...count).map { number in
            var configuration = PostgresConfiguration(
                connectionString: server.connectionString(),
                sealingKeys: SealingKeyRing(current: .closure { key })
            )
            configuration.tls = .disabled
            configuration.nodeName = "node-\(number)"
            configuration.markFolder = folder.appending(path: "node-\(number)").path
            return ActivationStore.postgres(configuration)
        }
        self.activations = try await StoredActivations(count: activations, in: self.stores[0])
        try await ServerUse.install(self.server)
    }

    func close() async {
        for store in self.stores { await store.close() }
        try? FileManager.default.removeItem(at: self.folder)
    }

    // MARK: Polls

    /// Lets all nodes poll until each activation was polled once, then measures some intervals.
    func polls(named detail: String, _ settings: Settings) async throws -> [Row] {
        let server = try StaticServerProcess([OperationFixture.answer(count: 0)])
        defer { server.stop() }
        let count = self.activations.ids.count
        let lags = LagRecorder(capacity: count * 8)
        let clients = try self.stores.map { try self.activations.client(of: server, in: $0, observer: lags) }
        var configuration = OperationsFleet.Configuration()
        configuration.pollInterval = Self.interval
        configuration.limits = OperationsFleet.ServerLimits(requestsPerSecond: 10_000, concurrentRequests: 64)
        let running = try zip(self.stores, clients).map { store, client in
            configuration.membership = try PostgresFleetMembership(store: store)
            let fleet = client.makeFleet(configuration: configuration)
            return Task { try await fleet.run() }
        }
        while lags.polled < count { try await Task.sleep(for: .milliseconds(100)) }
        // Until the nodes have shared the buckets.
        try await Task.sleep(for: Self.interval)
        _ = lags.take()
        let duration = Self.interval * (settings.isQuick ? 1 : 3)
        let rows = try await self.use(detail, isOfNodes: true) {
            try await Task.sleep(for: duration)
            return lags.take().count
        }
        for task in running { task.cancel() }
        for task in running { _ = await task.result }
        for client in clients { await client.shutdown() }
        return rows
    }

    // MARK: Approvals

    /// Measures counters that move with the intent of a decision, and its outcome, each node with activations of its own.
    func approvals(_ settings: Settings) async throws -> [Row] {
        let lanes = 24
        let approvals = Subject("approvals", approvingWith: self.activations.ids, lanes: lanes) { [stores] lane in
            stores[lane % stores.count]
        }
        // The rights to sign are taken.
        try await approvals.run(lanes * 4)
        let count = settings.isQuick ? 1_000 : 5_000
        return try await self.use("approvals") {
            try await approvals.run(count)
            return count
        }
    }

    // MARK: Sizes

    /// Returns the stored size of an activation that no operation was decided with, and of a decision.
    func sizes() async throws -> [Row] {
        let tables = try await ServerUse.run(
            """
            SELECT sum(pg_total_relation_size(oid)) FILTER (WHERE relname IN ('activation', 'field'))::int8,
                pg_total_relation_size('mobile_token.receipt'), (SELECT count(*) FROM mobile_token.receipt)
            FROM pg_class WHERE relnamespace = 'mobile_token'::regnamespace AND relkind = 'r'
            """,
            columns: 3,
            on: self.server
        )
        guard tables.count == 3 else { throw ServerUse.UnexpectedAnswer() }
        return [
            self.row("an activation in the database", .bytes, Double(tables[0]) / Double(self.activations.ids.count)),
            self.row("a receipt in the database", .bytes, Double(tables[1]) / Double(max(1, tables[2]))),
        ]
    }

    // MARK: -

    /// Measures what the server and this process do for some polls or approvals.
    ///
    /// - Parameter isOfNodes: `true` if the cost is that of a node in a second, however much it does; else it is that
    ///   of each poll or approval.
    private func use(_ detail: String, isOfNodes: Bool = false, _ body: () async throws -> Int) async throws -> [Row] {
        let before = try await ServerUse(of: self.server)
        let (processorTime, start) = (Measurement.processorNanoseconds, ContinuousClock.now)
        let count = Double(max(1, try await body()))
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let ours = Measurement.processorNanoseconds - processorTime
        let use = try await ServerUse(of: self.server)
        let (whose, divisor) = isOfNodes ? ("a node in a second", seconds * Double(self.stores.count)) : ("one", count)
        func share(_ what: String, _ unit: Unit, _ value: Double) -> Row {
            self.row("\(detail): \(what) of \(whose)", unit, value / divisor)
        }
        return [
            self.row("\(detail): rate", .perSecond, count / seconds),
            share("statements", .count, use.statementCount - before.statementCount),
            share("write-ahead log", .bytes, use.logByteCount - before.logByteCount),
            share(
                "the server's processor time",
                .microseconds,
                (use.processorTime - before.processorTime) / .microseconds(1)
            ),
            self.row("\(detail): our processor time of one", .microseconds, ours / 1e3 / count),
        ]
    }

    private func row(_ what: String, _ unit: Unit, _ value: Double) -> Row {
        let nodes = self.stores.count == 1 ? "1 node" : "\(self.stores.count) nodes"
        return Row(name: "postgres.fleet", detail: "\(nodes), \(what)", unit: unit, figure: Figure(value))
    }
}

/// The work of a server since its start.
private struct ServerUse {
    let statementCount: Double
    let logByteCount: Double
    let processorTime: Duration

    struct UnexpectedAnswer: Error {}

    /// Lets the server count.
    static func install(_ server: PostgresTestServer) async throws {
        _ = try await self.run("CREATE EXTENSION pg_stat_statements", on: server)
    }

    init(of server: PostgresTestServer) async throws {
        self.processorTime = try server.processorTime()
        let row = try await Self.run(
            "SELECT sum(calls)::int8, (pg_current_wal_insert_lsn() - '0/0')::int8 FROM pg_stat_statements",
            columns: 2,
            on: server
        )
        (self.statementCount, self.logByteCount) = (Double(try unwrap(row.first)), Double(try unwrap(row.last)))
    }

    /// Returns the numbers of the first row.
    static func run(_ statement: String, columns: Int32 = 0, on server: PostgresTestServer) async throws -> [Int64] {
        let pool = PostgresPool(size: 1) {
            PostgresTarget(connectionString: server.connectionString(), tls: .disabled)
        }
        let row = try await pool.withConnection { connection in
            try connection.run(statement).map { row in try (0..<columns).map { try row.integer($0) } }.first
        }
        await pool.closeIdleConnections()
        return row ?? []
    }
}
