import Coordination
import PostgresDatabase
public import PowerAuth

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
public final class PostgresActivationStore: PrunableJournal, JournalBacked {
    /// The settings that the store was made with.
    public let configuration: Configuration
    package let journal: Journal
    let driver: PostgresDriver
    /// Of one connection, which hears that there are lists to be read. Made when a fleet runs.
    private let listPool: PostgresPool

    /// Names a store.
    public init(_ configuration: Configuration) {
        self.configuration = configuration
        let clock = ServiceClock(configuration.clock)
        var options = PostgresConnection.Options()
        options.statementTimeout = configuration.statementTimeout
        options.preparesStatements = !configuration.pollOnly
        options.searchPath = configuration.schema
        let check: PostgresPool.Check = { try Incarnation.check(new: $0) }
        let pool = PostgresPool(size: configuration.poolSize, options: options, check: check) {
            try await configuration.target(connectTimeout: configuration.connectTimeout)
        }
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
        let wishes = Hints(of: .wishes, schema: configuration.schema, pool: keeperPool, clock: clock)
        let node = Node(
            name: configuration.nodeName,
            lifetimes: configuration.lifetimes,
            newestFormat: configuration.newestFormat,
            pool: pool,
            keeperPool: keeperPool,
            hints: configuration.pollOnly ? nil : wishes,
            clock: clock
        )
        self.driver = PostgresDriver(configuration, pool: pool, node: node, clock: clock)
        self.journal = Journal(
            self.driver,
            name: "the schema \(configuration.schema)",
            keys: configuration.sealingKeys.keys,
            clock: configuration.clock
        )
    }

    var pool: PostgresPool { self.driver.pool }
    var node: Node { self.driver.node }
    var clock: ServiceClock { self.driver.clock }

    /// Hints about lists, for a fleet that waits on its own clock.
    func listHints(_ clock: ServiceClock) -> Hints {
        Hints(of: .lists, schema: self.configuration.schema, pool: self.listPool, clock: clock)
    }

    /// Runs `body` with a connection, and gives the failures of the database the codes that users know.
    func withConnection<Result: Sendable>(
        isCancelable: Bool = false,
        _ body: @Sendable (PostgresConnection) throws -> Result
    ) async throws -> Result {
        try await self.driver.withConnection(isCancelable: isCancelable, body)
    }

    // MARK: Opening and closing

    /// Connects, makes or checks the tables, and fetches the keys, so that a service notices at its start what is wrong.
    ///
    /// - Throws: one of the `store…` codes of `MobileTokenError.Code`.
    public func open() async throws { try await self.journal.open() }

    /// Makes or changes the tables, with a role that may; nodes may be at work meanwhile.
    ///
    /// A change waits for others who use a table for a fifth of a second at a time, so that nodes do not wait behind it for
    /// longer, and is tried again for half a minute. Indexes of tables that are in use are made while others write, which
    /// may take minutes, and not through a pooler that lends sessions.
    ///
    /// - Parameter role: A role that is given the rights that a node needs, and no others; `nil` changes none.
    /// - Throws: `storeBusy` when a table was in use all the time.
    public func migrate(grantingTo role: String? = nil) async throws {
        try await self.driver.prepare(migrates: true)
        let schema = self.configuration.tables
        if let role { try await self.withConnection { try schema.grant(to: role, $0) } }
    }

    /// Gives back the rights of this node, and closes the connections. Calls that follow throw `storeClosed`.
    public func close() async {
        await self.journal.close()
        await self.listPool.closeIdleConnections()
    }

    /// Takes another ring of keys into use; see ``SealingKeyRing``.
    public func use(_ ring: SealingKeyRing) async throws { try await self.journal.use(ring.keys) }
}

extension PostgresActivationStore {
    /// The number of round trips that the pool has made, for tests.
    package var roundTripCount: Int { get async { await self.pool.roundTripCount } }
}
