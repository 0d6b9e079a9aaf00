import Basics
package import Coordination
public import MobileToken
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
    private let node: Node
    private let buckets: any BucketDatabase
    private let clock: ServiceClock
    private let held = Mutex(Held())
    private let exchange: ListExchange

    /// Creates the membership of this node. Nothing is opened before the fleet runs.
    ///
    /// - Parameters:
    ///   - store: The store that the nodes share.
    ///   - clock: Paces looking for other nodes.
    public convenience init(
        store: ActivationStore,
        clock: any Clock<Duration> = ContinuousClock()
    ) throws(MobileTokenError) {
        let (driver, clock) = (try store.postgres, ServiceClock(clock))
        self.init(
            store,
            node: driver.node,
            buckets: PostgresBuckets(driver: driver),
            lists: PostgresLists(store, driver, clock: clock),
            clock: clock
        )
    }

    package init(
        _ store: ActivationStore,
        node: Node,
        buckets: any BucketDatabase,
        lists: any ListDatabase,
        clock: ServiceClock
    ) {
        self.store = store
        self.node = node
        self.buckets = buckets
        self.clock = clock
        self.exchange = ListExchange(lists, node, clock: clock)
    }

    /// The least age of the oldest transaction of the server, whatever database it is of; zero when there is none.
    ///
    /// While it stays open, each node reads the lists again that changed since it began, and tables that are written all the
    /// time cannot be vacuumed: raise an alarm on minutes. Known while the fleet runs.
    public var oldestTransactionAge: Duration { self.exchange.oldestTransactionAge }

    /// Returns whether this node owns a bucket, and may rely on being alive to the others.
    public func holds(_ bucket: Int) -> Bool {
        guard let lease = self.node.reliableLease else { return false }
        return self.held.withLock { $0.lease == lease.number && $0.buckets.contains(bucket) }
    }

    /// Takes buckets and gives them back until the calling task is canceled.
    ///
    /// Once it has begun, no refusal of the database ends it: a password that is being rotated, or a server that may not write for a
    /// while, would otherwise end every node in the same second.
    ///
    /// - Throws: `MobileTokenError` when the database cannot be used at the start, or the store was closed.
    public func run(assign: @escaping @Sendable (OperationsFleet.Assignment) async -> Void) async throws {
        try await self.store.open()
        try self.node.beginUse()
        defer { self.node.endUse() }
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
                } catch  where hasBegun && !error.endsMembership {
                    // Polling goes on, and deciding ends with the lease. The exchange of lists reports what is wrong.
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
        let lease = try await self.node.lease()
        let (owned, count, readsAll) = try await self.buckets.look(as: lease)
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
            try await self.buckets.giveBack(surplus, as: lease)
        }
        let missing = share.missing(among: count)
        if readsAll, missing > 0 {
            for bucket in try await self.buckets.take(missing, as: lease) { share.add(bucket) }
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
        await shielded { [store, buckets] in
            await store.writeKeptOutcomes()
            try? await buckets.leave(as: lease)
        }
    }
}

extension Error {
    fileprivate var endsMembership: Bool {
        self is CancellationError || (self as? MobileTokenError)?.code == .storeClosed
    }
}

extension PostgresFleetMembership: ListSharingMembership {
    package func recordPoll(_ listing: FleetListing) { self.exchange.recordPoll(listing) }

    package func lastListing(of activationID: String) -> FleetListing? { self.exchange.last(activationID) }

    package func follow(_ receiver: ListReceiver) async { await self.exchange.run(receiver) }
}
