package import Coordination
public import MobileToken
import PowerAuthClient
import Synchronization

/// Divides the activations of a PostgreSQL store among its nodes.
///
/// ```swift
/// let store = ActivationStore.postgres(storeConfiguration)
/// var configuration = OperationsFleet.Configuration()
/// configuration.membership = try PostgresFleetMembership(store: store)
/// ```
///
/// Each of the 64 buckets belongs to at most one node. A node takes its fair share, counts the living nodes every second, and returns
/// surplus buckets. A dead node's buckets are free after a lifetime (``NodeLifetimes``); see <doc:Deploying>. Nodes beyond 64 stand by.
///
/// A fleet's streams show what its own node polls. Ask the server for the list of an activation that another node polls.
///
/// If the database is unreachable, a node continues polling its buckets, which is harmless even if another node polls them too. It
/// decides nothing after its lifetime.
public final class PostgresFleetMembership: FailureReportingMembership {
    /// The number of buckets, 64, which limits the number of polling processes.
    package let bucketCount = OperationsFleet.Buckets.count

    private static let interval = Duration.seconds(1)

    /// This node's buckets, and the number of its lease.
    private struct Held {
        var buckets: Set<Int> = []
        var lease: Int64?
    }

    private let store: ActivationStore
    private let node: Node
    private let buckets: any BucketDatabase
    private let clock: ServiceClock
    private let held = Mutex(Held())

    /// Creates this node's membership. Nothing is opened before the fleet runs.
    ///
    /// - Parameters:
    ///   - store: The store that the nodes share.
    ///   - clock: Paces the checks for other nodes.
    public convenience init(
        store: ActivationStore,
        clock: any Clock<Duration> = ContinuousClock()
    ) throws(MobileTokenError) {
        let (driver, clock) = (try store.postgres, ServiceClock(clock))
        self.init(
            store,
            node: driver.node,
            buckets: PostgresBuckets(driver: driver),
            clock: clock
        )
    }

    package init(
        _ store: ActivationStore,
        node: Node,
        buckets: any BucketDatabase,
        clock: ServiceClock
    ) {
        self.store = store
        self.node = node
        self.buckets = buckets
        self.clock = clock
    }

    /// Returns whether this node owns the bucket under a reliable lease.
    package func holds(_ bucket: Int) -> Bool {
        guard let lease = self.node.reliableLease else { return false }
        return self.held.withLock { $0.lease == lease.number && $0.buckets.contains(bucket) }
    }

    /// Takes and returns buckets until the calling task is canceled.
    ///
    /// Once running, it survives refusals of the database. Otherwise a password rotation or a read-only server would end every
    /// node at once.
    ///
    /// - Throws: `MobileTokenError` if the database is unusable at the start, or the store was closed.
    package func run(assign: @escaping @Sendable (OperationsFleet.Assignment) async -> Void) async throws {
        try await self.run(assign: assign) { _ in }
    }

    package func run(
        assign: @escaping @Sendable (OperationsFleet.Assignment) async -> Void,
        report: @escaping @Sendable (MobileTokenError?) async -> Void
    ) async throws {
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
                    await report(nil)
                } catch  where hasBegun && !error.endsMembership {
                    // Polling continues, and deciding ends with the lease.
                    let other = MobileTokenError(.storeUnreachable, "The database refuses", underlying: error)
                    await report(error as? MobileTokenError ?? other)
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

    /// Adjusts this node's buckets to its fair share.
    private func look(_ assign: (OperationsFleet.Assignment) async -> Void) async throws -> OperationsFleet.Assignment {
        let lease = try await self.node.lease()
        let (owned, count, readsAll) = try await self.buckets.look(as: lease)
        if let before = self.held.withLock({ $0.lease }), before != lease.number {
            // Other nodes may have decided meanwhile, so all buckets are taken over again, and no decision uses an old list.
            await assign(OperationsFleet.Assignment(buckets: [], processCount: count))
        }
        self.set(owned, lease)
        var share = BucketShare(count: self.bucketCount, startingAt: Int(truncatingIfNeeded: lease.number))
        for bucket in owned { share.add(bucket) }
        let surplus = readsAll ? share.surplus(among: count) : Array(owned)
        if !surplus.isEmpty {
            for bucket in surplus { share.remove(bucket) }
            // Other nodes may take a bucket only after decisions on it have ended here.
            self.set(share.owned, lease)
            await assign(OperationsFleet.Assignment(buckets: share.owned, processCount: count))
            // The next owner asks the server about every decision without a written outcome.
            await self.store.writeKeptOutcomes()
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
        // This task is canceled, and unreturned buckets would be idle for a lifetime.
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

extension OperationsFleet.Configuration {
    /// The membership that divides the activations among nodes; `nil` if this process polls all of them.
    public var membership: PostgresFleetMembership? {
        get { self.division as? PostgresFleetMembership }
        set { self.division = newValue ?? SingleProcessMembership() }
    }
}
