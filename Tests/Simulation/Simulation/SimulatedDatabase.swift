import MobileTokenPostgres

/// The database as a node and its membership see it, over a line that delays, loses and repeats.
///
/// They are the product's own code; the responses are PostgreSQL's. There are no notifications, so each polls after the
/// time in which one may have been lost.
final class SimulatedDatabase: NodeDatabase, BucketDatabase, NotificationSource {
    static let lifetimes = NodeLifetimes()

    private let world: World
    private let name: String

    init(_ world: World, name: String) {
        self.world = world
        self.name = name
    }

    /// Makes a call that changes nothing, or may be repeated.
    private func ask<Answer: Sendable>(
        _ name: String,
        _ body: @escaping @Sendable (inout Database, Int64) -> Answer
    ) async throws -> Answer {
        try await self.world.askDatabase(name, mayBeUnknown: false, body)
    }

    // MARK: The lease

    /// - Parameter sentAt: The time before the call that granted or renewed the lease.
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
            if let number {
                world.tookLease(of: database.epoch)
                world.leaseStarts[number] = world.simulator.now
            }
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

    /// Waits without notifications.
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
        self.world.givesBack(buckets)
        try await self.ask("give back") { database, _ in database.giveBack(buckets, as: lease.number) }
    }

    func leave(as lease: Int64) async throws {
        self.world.givesBack(nil)
        try await self.ask("stop polling") { database, _ in database.stopPolling(as: lease) }
    }
}
