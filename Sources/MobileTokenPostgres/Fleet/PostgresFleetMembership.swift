import Basics
import Coordination
public import MobileToken
import PostgresDatabase
import PowerAuth
import Synchronization

/// Divides the activations of a PostgreSQL store among the nodes that share it.
///
/// ```swift
/// let store = ActivationStore.postgres(storeConfiguration)
/// var configuration = OperationsFleet.Configuration()
/// configuration.membership = try PostgresFleetMembership(store: store)
/// ```
///
/// There are 64 buckets, and each belongs to one node or to none. A node takes its fair share of them, looks every second how
/// many nodes are alive, and gives back what is more than that. What a dead node had is free after a lifetime
/// (``NodeLifetimes``); <doc:Deploying> has what it leaves, and how others take over. Nodes beyond 64 find nothing to poll, and stand by.
///
/// The streams of a fleet show the lists of all nodes: what one of them polls, the others see as soon as the database has it.
/// What an agent decides rests on what its own node polls.
///
/// While the database cannot be reached, a node goes on polling what it had, which does no harm when another one polls it too,
/// and decides nothing once its lifetime is over.
public final class PostgresFleetMembership: FleetMembership {
    /// The number of buckets, 64: so many processes at most have a share of the polls.
    public let bucketCount = OperationsFleet.Buckets.count

    private static let interval = Duration.seconds(1)

    /// The buckets that this node owns, and the number under which it does.
    private struct Held {
        var buckets: Set<Int> = []
        var lease: Int64?
    }

    private let store: ActivationStore
    private let driver: PostgresDriver
    private let clock: ServiceClock
    private let held = Mutex(Held())
    private let exchange: ListExchange

    /// Creates the membership of this node. Nothing is opened before the fleet runs.
    ///
    /// - Parameters:
    ///   - store: The store that the nodes share.
    ///   - clock: Paces looking for other nodes.
    public init(store: ActivationStore, clock: any Clock<Duration> = ContinuousClock()) throws(MobileTokenError) {
        self.store = store
        self.driver = try store.postgres
        self.clock = ServiceClock(clock)
        self.exchange = ListExchange(store, self.driver, clock: self.clock)
    }

    /// The least age of the oldest transaction of the server, whatever database it is of; zero when there is none.
    ///
    /// While it stays open, each node reads the lists again that changed since it began, and tables that are written all the
    /// time cannot be vacuumed: raise an alarm on minutes. Known while the fleet runs.
    public var oldestTransactionAge: Duration { self.exchange.oldestTransactionAge }

    /// Returns whether this node owns a bucket, and may rely on being alive to the others.
    public func holds(_ bucket: Int) -> Bool {
        guard let lease = self.driver.node.reliableLease else { return false }
        return self.held.withLock { $0.lease == lease.number && $0.buckets.contains(bucket) }
    }

    /// Takes buckets and gives them back until the calling task is canceled.
    ///
    /// - Throws: `MobileTokenError` when the database cannot be used at the start.
    public func run(assign: @escaping @Sendable (OperationsFleet.Assignment) async -> Void) async throws {
        try await self.store.open()
        try self.driver.node.beginUse()
        defer { self.driver.node.endUse() }
        var last: OperationsFleet.Assignment?
        func tell(_ assignment: OperationsFleet.Assignment) async {
            guard assignment != last else { return }
            last = assignment
            await assign(assignment)
        }
        var hasBegun = false
        do {
            repeat {
                do {
                    await tell(try await self.look(tell))
                    hasBegun = true
                } catch let error as MobileTokenError where hasBegun && error.isPassing {
                    // Polling goes on, and deciding ends with the lease.
                }
            } while (try? await self.clock.sleep(until: self.clock.now + Self.interval)) != nil
        } catch is CancellationError {
            await self.giveBackAll(assign)
            return
        } catch {
            await self.giveBackAll(assign)
            throw error
        }
        await self.giveBackAll(assign)
    }

    /// Brings what this node owns up to its fair share.
    private func look(_ assign: (OperationsFleet.Assignment) async -> Void) async throws -> OperationsFleet.Assignment {
        let lease: NodeLease
        do {
            lease = try await self.driver.node.lease()
        } catch {
            throw MobileTokenError.mapped(error, schema: self.driver.configuration.schema)
        }
        let (newestFormat, lifetimes) = (self.driver.node.newestFormat, self.driver.node.lifetimes)
        let (owned, count, readsAll) = try await self.driver.withConnection {
            try FleetTables.look(as: lease, reading: newestFormat, lifetimes, $0)
        }
        if let before = self.held.withLock({ $0.lease }), before != lease.number {
            // Others may have decided meanwhile: whatever is owned now is taken over, and no old list is decided by.
            await assign(OperationsFleet.Assignment(buckets: [], processCount: count))
        }
        self.set(owned, lease)
        var share = BucketShare(count: self.bucketCount, startingAt: Int(truncatingIfNeeded: lease.number))
        for bucket in owned { share.add(bucket) }
        let surplus = readsAll ? share.surplus(among: count) : Array(owned)
        if !surplus.isEmpty {
            for bucket in surplus { share.remove(bucket) }
            // Others may take a bucket only when nothing is decided on it here any more.
            self.set(share.owned, lease)
            await assign(OperationsFleet.Assignment(buckets: share.owned, processCount: count))
            // Whoever takes over asks the server about every decision whose outcome is not written.
            await self.store.writeKeptOutcomes()
            await self.exchange.writeKeptLists()
            try await self.driver.withConnection { try FleetTables.giveBack(surplus, as: lease, $0) }
        }
        let missing = share.missing(among: count)
        if readsAll, missing > 0 {
            for bucket in try await self.driver.withConnection({ try FleetTables.take(missing, as: lease, $0) }) {
                share.add(bucket)
            }
        }
        self.set(share.owned, lease)
        return OperationsFleet.Assignment(buckets: share.owned, processCount: count)
    }

    private func set(_ buckets: Set<Int>, _ lease: NodeLease) {
        self.held.withLock { $0 = Held(buckets: buckets, lease: lease.number) }
    }

    private func giveBackAll(_ assign: (OperationsFleet.Assignment) async -> Void) async {
        let lease = self.held.withLock { held in
            held.buckets = []
            return held.lease
        }
        await assign(OperationsFleet.Assignment(buckets: []))
        guard let lease else { return }
        // This task is canceled, and what is not given back would be nobody's for a lifetime.
        await shielded { [store, driver] in
            await store.writeKeptOutcomes()
            try? await driver.withConnection { try FleetTables.leave(as: lease, $0) }
        }
    }
}

extension PostgresFleetMembership: ListSharingMembership {
    package func recordPoll(_ listing: FleetListing) { self.exchange.recordPoll(listing) }

    package func lastListing(of activationID: String) -> FleetListing? { self.exchange.last(activationID) }

    package func follow(_ receiver: ListReceiver) async { await self.exchange.run(receiver) }
}

/// The statements by which nodes divide buckets.
enum FleetTables {
    /// Makes known that a node polls, which it does while it reads every activation that is stored.
    ///
    /// - Returns: The buckets that the node owns, the number of nodes that poll, and `true` if it is one of them.
    static func look(
        as lease: NodeLease,
        reading newestFormat: RecordFormat,
        _ lifetimes: NodeLifetimes,
        _ connection: PostgresConnection
    ) throws -> (owned: Set<Int>, count: Int, readsAll: Bool) {
        let readsAll = "(NOT EXISTS (SELECT FROM activation WHERE format > $1))"
        let results = try connection.run([
            NodeLease.sweep(lifetimes),
            PostgresStatement(
                "UPDATE node SET polls = NOT polls WHERE number = $2 AND polls <> \(readsAll)",
                [.integer(newestFormat.rawValue), .integer(lease.number)]
            ),
            PostgresStatement("SELECT number FROM bucket WHERE owner = $1", [.integer(lease.number)]),
            PostgresStatement("SELECT count(*), \(readsAll) FROM node WHERE polls", [.integer(newestFormat.rawValue)]),
        ])
        guard results.count == 4, let row = results[3].first else { throw PostgresError(.unexpectedResult) }
        let owned = try results[2].map { Int(clamping: try $0.integer(0)) }
        return (Set(owned), max(1, Int(clamping: try row.integer(0))), try row.boolean(1))
    }

    /// Takes buckets that nobody has. Two nodes that look at once do not wait for each other.
    static func take(_ count: Int, as lease: NodeLease, _ connection: PostgresConnection) throws -> [Int] {
        try connection.run(
            """
            UPDATE bucket SET owner = $1
            WHERE number IN (
                SELECT number FROM bucket WHERE owner IS NULL ORDER BY number LIMIT $2 FOR UPDATE SKIP LOCKED
            ) AND EXISTS (SELECT FROM node WHERE number = $1)
            RETURNING number
            """,
            [.integer(lease.number), .integer(Int64(clamping: count))]
        ).map { Int(clamping: try $0.integer(0)) }
    }

    static func giveBack(_ buckets: [Int], as lease: NodeLease, _ connection: PostgresConnection) throws {
        try connection.run(
            "UPDATE bucket SET owner = NULL WHERE owner = $1 AND number = ANY ($2::int8[])",
            [.integer(lease.number), .integers(buckets.map { Int64($0) })]
        )
    }

    static func leave(as lease: Int64, _ connection: PostgresConnection) throws {
        try connection.run([
            PostgresStatement("UPDATE bucket SET owner = NULL WHERE owner = $1", [.integer(lease)]),
            PostgresStatement("UPDATE node SET polls = false WHERE number = $1", [.integer(lease)]),
        ])
    }
}
