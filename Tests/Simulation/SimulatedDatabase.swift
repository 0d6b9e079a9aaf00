import MobileToken
import MobileTokenPostgres
import Synchronization

/// The database as a node, its membership and its lists ask it, over a line that delays, loses and repeats.
///
/// What they do with the answers is the product's own; the answers are those that PostgreSQL gives. Nobody can listen, so
/// that each looks again after the time in which a notification may have got lost.
final class SimulatedDatabase: NodeDatabase, BucketDatabase, ListDatabase, NotificationSource {
    static let lifetimes = NodeLifetimes()

    private let world: World
    private let name: String
    /// The number of broken connections at the last reading of lists: the next one after another has broken fails.
    private let breaks = Mutex(0)

    init(_ world: World, name: String) {
        self.world = world
        self.name = name
    }

    /// Makes a call that changes nothing, or that may be made twice.
    private func ask<Answer: Sendable>(
        _ name: String,
        _ body: @escaping @Sendable (inout Database, Int64) -> Answer
    ) async throws -> Answer {
        try await self.world.askDatabase(name, mayBeUnknown: false, body)
    }

    // MARK: The lease

    /// - Parameter sentAt: The moment before the call that gave or renewed the lease.
    private func lease(_ number: Int64, since sentAt: ContinuousClock.Instant) -> NodeLease {
        let reliance = self.world.defect == .noCheckAfterThaw ? .seconds(86_400) : Self.lifetimes.reliance
        return NodeLease(number: number, reliableUntil: sentAt + reliance)
    }

    func quarantine() async throws -> DatabaseEpoch.Quarantine {
        let isHeeded = self.world.defect != .noQuarantine
        return try await self.ask("quarantine") { database, now in
            database.checkServer(at: now)
            return DatabaseEpoch.Quarantine(
                epoch: database.epoch.identity,
                rest: isHeeded ? database.quarantineRest(at: now) : .zero
            )
        }
    }

    func takeLease(in epoch: DatabaseEpoch.Identity) async throws -> NodeLease? {
        let (name, sentAt) = (self.name, ContinuousClock.now)
        let epoch = self.world.defect == .leaseOfAnyEpoch ? nil : epoch
        let number = try await self.ask("take lease") { [world] database, now in
            let number = database.takeLease(name: name, in: epoch, at: now)
            if number != nil { world.tookLease(of: database.epoch) }
            return number
        }
        return number.map { self.lease($0, since: sentAt) }
    }

    func renew(_ lease: NodeLease) async throws -> NodeLease.Heartbeat {
        let sentAt = ContinuousClock.now
        let checksServer = self.world.defect != .heartbeatOfAnyServer
        let requests = try await self.ask("heartbeat") { [world] database, now in
            world.heard(of: database.server)
            return database.renew(lease.number, at: now, checksServer: checksServer)
        }
        let renewed = requests.map { _ in self.lease(lease.number, since: sentAt) }
        return NodeLease.Heartbeat(lease: renewed, handoverRequests: requests ?? [])
    }

    func leave(_ lease: NodeLease) async throws {
        try await self.ask("leave") { database, _ in database.leave(lease.number) }
    }

    /// Nobody notifies.
    func wait(atMost duration: Duration) async throws { try await self.world.clock.sleep(for: duration) }

    // MARK: Rights

    func take(_ activationID: String, as lease: NodeLease) async throws -> RightAnswer {
        try await self.ask("acquire") { [world] database, now in
            let answer = database.acquire(activationID, for: lease.number, at: now)
            for id in database.takeUncleanTakeovers() { world.tookOver(id) }
            return answer
        }
    }

    func handOver(_ activationID: String, from lease: NodeLease) async throws {
        try await self.ask("hand over") { database, _ in database.handOver(activationID, from: lease.number) }
    }

    // MARK: Buckets

    func look(as lease: NodeLease) async throws -> (owned: Set<Int>, count: Int, readsAll: Bool) {
        try await self.ask("look") { database, now in
            let (owned, count) = database.look(as: lease.number, at: now)
            return (owned, count, true)
        }
    }

    func take(_ count: Int, as lease: NodeLease) async throws -> [Int] {
        try await self.ask("take buckets") { database, _ in database.takeBuckets(count, as: lease.number) }
    }

    func giveBack(_ buckets: [Int], as lease: NodeLease) async throws {
        try await self.ask("give back") { database, _ in database.giveBack(buckets, as: lease.number) }
    }

    func leave(as lease: Int64) async throws {
        try await self.ask("stop polling") { database, _ in database.stopPolling(as: lease) }
    }

    // MARK: Lists

    var pageSize: Int { 200 }

    private static func lengths(_ listings: [FleetListing]) -> String {
        listings.map { "\($0.activationID.prefix(4)): \($0.operations.count)" }.joined(separator: ", ")
    }

    func write(
        _ listings: [FleetListing],
        as lease: NodeLease
    ) async throws -> [(activationID: String, place: ListPlace)] {
        let written = try await self.ask("write lists") { database, now in
            database.write(listings, as: lease.number, at: now)
        }
        self.world.simulator.note(
            "has written \(written.count) of \(listings.count) lists, \(Self.lengths(listings))"
        )
        return written
    }

    func notifyReaders() async throws {}

    func waitForNews() async throws { try await self.world.clock.sleep(for: .seconds(1)) }

    func read(after cursor: ListCursor) async throws -> ListPage {
        let pageSize = self.pageSize
        let (horizon, lists, breaks) = try await self.ask("read lists") { database, _ in
            (database.listHorizon, database.lists(after: cursor, limit: pageSize), database.server.breaks)
        }
        let isSame = self.breaks.withLock { known in
            defer { known = breaks }
            return known == breaks
        }
        guard isSame else { throw MobileTokenError(.storeUnreachable, "the connection broke, as the world wants it") }
        let listings = try lists.map { try FleetListing(activationID: $0.activationID, parsing: $0.json) }
        if !lists.isEmpty { self.world.simulator.note("reads the lists \(Self.lengths(listings))") }
        let rows = zip(lists, listings).map { ListPage.Row(place: $0.place, listing: $1) }
        return ListPage(horizon: horizon, rows: rows, isFull: rows.count == pageSize)
    }
}

/// A membership whose nodes do not show each other their lists.
struct SilentMembership: FleetMembership {
    let membership: PostgresFleetMembership

    var bucketCount: Int { self.membership.bucketCount }

    func holds(_ bucket: Int) -> Bool { self.membership.holds(bucket) }

    func run(assign: @escaping @Sendable (OperationsFleet.Assignment) async -> Void) async throws {
        try await self.membership.run(assign: assign)
    }
}
