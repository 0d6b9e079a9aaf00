import Coordination
import PostgresDatabase
import PowerAuth
import Synchronization

/// Keeps activations in PostgreSQL, with their secrets sealed, for any number of nodes.
///
/// ```swift
/// let store = PostgresActivationStore(
///     .init(
///         connectionString: "host=db.example.com dbname=bank user=bot",
///         sealingKeys: SealingKeyRing(current: .environment("SEALING_KEY"))
///     )
/// )
/// ```
///
/// Every node may sign with every activation. The right to sign stays with the node that signed last, for as long as it shows
/// the database that it is alive (``NodeLifetimes``), and is handed over when another one asks for it; a node that dies loses
/// it after a lifetime. While it stays, a signature costs one durable statement, and those of different activations that are
/// asked for at the same time share one commit.
///
/// A change is on the server's disk when the call returns, whatever `synchronous_commit` says. It may be lost nevertheless
/// when a standby without synchronous replication takes the server's place, or a backup is put back: see <doc:Restoring>.
///
/// Nothing is opened before it is needed, or ``open()`` is called.
public final class PostgresActivationStore: Sendable {
    /// What the store was made with.
    public let configuration: Configuration

    /// What opening found.
    struct Open: Sendable {
        var keys: OpenKeys
        let marks: HighWaterMarks
    }

    private enum State {
        case new
        case open(Open)
        case closed
    }

    let pool: PostgresPool
    /// Changes of different activations that are asked for at the same time share one durable commit.
    let durable: SharedTransactions
    /// The same of what a crash of the server may take back.
    private let relaxed: SharedTransactions
    /// Of one connection, which hears that there are lists to be read. Made when a fleet runs.
    private let listPool: PostgresPool
    let node: Node
    let clock: ServiceClock
    /// The order of this process's changes of one activation.
    let changes = Gate()
    let upgrades: UpgradeWatch
    private let opening = Gate()
    private let state = Mutex(State.new)
    private let ring: Mutex<SealingKeyRing>

    /// Names a store.
    public init(_ configuration: Configuration) {
        self.configuration = configuration
        self.clock = ServiceClock(configuration.clock)
        self.upgrades = UpgradeWatch(clock: self.clock)
        self.ring = Mutex(configuration.sealingKeys)
        var options = PostgresConnection.Options()
        options.statementTimeout = configuration.statementTimeout
        options.preparesStatements = !configuration.pollOnly
        options.searchPath = configuration.schema
        let check: PostgresPool.Check = { try Incarnation.check(new: $0) }
        self.pool = PostgresPool(size: configuration.poolSize, options: options, check: check) {
            try await configuration.target(connectTimeout: configuration.connectTimeout)
        }
        self.durable = SharedTransactions(in: self.pool, .durable)
        self.relaxed = SharedTransactions(in: self.pool, .relaxed)
        // A heartbeat that is late is worth nothing: rather another connection, and another attempt.
        let patience = configuration.lifetimes.death / 2
        options.statementTimeout = min(options.statementTimeout, patience / 2)
        options.grace = min(options.grace, patience / 2)
        let keeperPool = PostgresPool(size: 1, options: options, listens: true, check: check) {
            try await configuration.target(connectTimeout: min(configuration.connectTimeout, patience))
        }
        self.listPool = PostgresPool(size: 1, options: options, listens: true, check: check) {
            try await configuration.target(connectTimeout: configuration.connectTimeout)
        }
        let wishes = Hints(of: .wishes, schema: configuration.schema, pool: keeperPool, clock: self.clock)
        self.node = Node(
            name: configuration.nodeName,
            lifetimes: configuration.lifetimes,
            newestFormat: configuration.newestFormat,
            pool: self.pool,
            keeperPool: keeperPool,
            hints: configuration.pollOnly ? nil : wishes,
            clock: self.clock
        )
    }

    /// Hints about lists, for a fleet that waits on its own clock.
    func listHints(_ clock: ServiceClock) -> Hints {
        Hints(of: .lists, schema: self.configuration.schema, pool: self.listPool, clock: clock)
    }

    // MARK: Opening and closing

    /// Connects, makes or checks the tables, and fetches the keys, so that a service notices at its start what is wrong.
    ///
    /// - Throws: one of the `store…` codes of `MobileTokenError.Code`.
    public func open() async throws { _ = try await self.opened() }

    /// Makes or changes the tables, with a role that may; nodes may be at work meanwhile.
    ///
    /// A change waits for others who use a table for a fifth of a second at a time, so that nodes do not wait behind it for
    /// longer, and is tried again for half a minute. Indexes of tables that are in use are made while others write, which
    /// may take minutes, and not through a pooler that lends sessions.
    ///
    /// - Parameter role: A role that is given the rights that a node needs, and no others; `nil` changes none.
    /// - Throws: `storeBusy` when a table was in use all the time.
    public func migrate(grantingTo role: String? = nil) async throws {
        let schema = PostgresSchema(name: self.configuration.schema)
        try await self.prepare(schema, migrates: true)
        if let role { try await self.withConnection { try schema.grant(to: role, $0) } }
    }

    private func prepare(_ schema: PostgresSchema, migrates: Bool) async throws {
        guard try await self.withConnection({ try schema.needsWork($0, migrates: migrates) }) else { return }
        var options = PostgresConnection.Options()
        options.statementTimeout = .seconds(86_400)
        options.searchPath = self.configuration.schema
        options.preparesStatements = !self.configuration.pollOnly
        let pool = PostgresPool(size: 1, options: options) { [configuration] in
            try await configuration.target(connectTimeout: configuration.connectTimeout)
        }
        let deadline = self.clock.now + .seconds(30)
        try await self.mappingErrors {
            while true {
                do {
                    try await pool.withConnection { try schema.prepare($0, migrates: migrates) }
                    break
                } catch let error as PostgresError where error.refusal == .timeout && self.clock.now < deadline {
                    try await self.clock.sleep(until: self.clock.now + .seconds(1))
                }
            }
        }
        await pool.closeIdleConnections()
    }

    /// Gives back the rights of this node, and closes the connections. Calls that follow throw `storeClosed`.
    public func close() async {
        self.state.withLock { $0 = .closed }
        await self.node.close()
        await self.listPool.closeIdleConnections()
        await self.pool.closeIdleConnections()
    }

    /// Takes another ring of keys into use; see ``SealingKeyRing``.
    public func use(_ ring: SealingKeyRing) async throws {
        _ = try await self.opened()
        let keys = try await self.load(ring)
        self.ring.withLock { $0 = ring }
        self.state.withLock { state in
            guard case .open(var open) = state else { return }
            open.keys = keys
            state = .open(open)
        }
    }

    func opened() async throws -> Open {
        if let open = try self.openIfAny() { return open }
        try await self.opening.enter("")
        defer { self.opening.leave("") }
        if let open = try self.openIfAny() { return open }
        guard self.configuration.lifetimes.areUsable else {
            throw MobileTokenError(.invalidConfiguration, "lifetimes: a death must come after two heartbeats at least")
        }
        let schema = PostgresSchema(name: self.configuration.schema)
        let migrates = self.configuration.migrates
        try await self.prepare(schema, migrates: migrates)
        let identifier = try await self.withConnection { connection in
            try Incarnation.check(connection)
            return try StoreIdentifier.find(connection)
        }
        let keys = try await self.load(self.ring.withLock { $0 })
        let marks = try LockFile(creating: "\(self.configuration.markFolder)/\(identifier).marks")
        let open = Open(keys: keys, marks: HighWaterMarks(in: marks))
        return try self.state.withLock { state in
            if case .closed = state { throw Self.closed() }
            state = .open(open)
            return open
        }
    }

    private func openIfAny() throws -> Open? {
        try self.state.withLock { state in
            switch state {
            case .open(let found): return found
            case .new: return nil
            case .closed: throw Self.closed()
            }
        }
    }

    private static func closed() -> MobileTokenError { MobileTokenError(.storeClosed, "The store was closed") }

    private func load(_ ring: SealingKeyRing) async throws -> OpenKeys {
        let isNew = try await self.withConnection { try !OpenKeys.hasAny($0) }
        let fetched = try await OpenKeys.Fetched(ring, isForNewStore: isNew)
        return try await self.withConnection { try OpenKeys.load(fetched, $0) }
    }

    /// Returns the key of a stored value. Another node may have begun to use it since the store was opened.
    func sealing(_ number: Int64) async throws -> Sealing {
        let open = try await self.opened()
        if open.keys.contains(number) { return try open.keys.sealing(number) }
        let keys = try await self.load(self.ring.withLock { $0 })
        self.state.withLock { state in
            guard case .open(var open) = state else { return }
            open.keys = keys
            state = .open(open)
        }
        return try keys.sealing(number)
    }

    /// Runs `body` with a connection, and gives the failures of the database the codes that users know.
    func withConnection<Result: Sendable>(
        isCancelable: Bool = false,
        _ body: @Sendable (PostgresConnection) throws -> Result
    ) async throws -> Result {
        try await self.mappingErrors { try await self.pool.withConnection(isCancelable: isCancelable, body) }
    }

    /// Runs a statement as a transaction, which others that are asked for at the same time may share.
    func run(_ statement: PostgresStatement, _ effect: PostgresConnection.Effect) async throws -> PostgresRows {
        guard let rows = try await self.run([statement], effect).first else { throw PostgresError(.unexpectedResult) }
        return rows
    }

    /// Runs statements one after the other as a transaction, which others that are asked for at the same time may share.
    func run(
        _ statements: [PostgresStatement],
        _ effect: PostgresConnection.Effect
    ) async throws -> [PostgresRows] {
        let transactions = effect == .relaxed ? self.relaxed : self.durable
        return try await self.mappingErrors { try await transactions.run(statements) }
    }

    private func mappingErrors<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch {
            if Task.isCancelled, (error as? PostgresError)?.kind == .canceled { throw CancellationError() }
            throw MobileTokenError.mapped(error, schema: self.configuration.schema)
        }
    }
}

/// What tells this store's file of marks from others: made with the first tables, and copied with them.
private enum StoreIdentifier {
    static func find(_ connection: PostgresConnection) throws -> String {
        let rows = try connection.run([
            PostgresStatement(
                """
                INSERT INTO setting (name, value) VALUES ('identifier', decode(replace(gen_random_uuid()::text, '-', ''), 'hex'))
                ON CONFLICT DO NOTHING
                """
            ),
            PostgresStatement("SELECT encode(value, 'hex') FROM setting WHERE name = 'identifier'"),
        ])
        guard let row = rows.last?.first else { throw PostgresError(.unexpectedResult) }
        return try row.text(0)
    }
}

extension PostgresActivationStore {
    /// How many round trips the pool has made, for tests.
    package var roundTripCount: Int { get async { await self.pool.roundTripCount } }
}
