import Coordination
import MobileToken
import PowerAuth
import Synchronization

/// Divides the activations among the nodes of a world, by the rules of the membership for PostgreSQL.
final class SimulatedMembership: FleetMembership {
    private struct Held {
        var buckets: Set<Int> = []
        var lease: Int64?
    }

    let bucketCount = OperationsFleet.Buckets.count
    private let driver: SimulatedDriver
    private let clock: SimulatedClock
    private let held = Mutex(Held())

    init(_ driver: SimulatedDriver, clock: SimulatedClock) {
        self.driver = driver
        self.clock = clock
    }

    func holds(_ bucket: Int) -> Bool {
        guard let lease = self.driver.reliableLease else { return false }
        return self.held.withLock { $0.lease == lease && $0.buckets.contains(bucket) }
    }

    func run(assign: @escaping @Sendable (OperationsFleet.Assignment) async -> Void) async throws {
        var last: OperationsFleet.Assignment?
        func tell(_ assignment: OperationsFleet.Assignment) async {
            guard assignment != last else { return }
            last = assignment
            await assign(assignment)
        }
        repeat {
            do {
                await tell(try await self.look(tell))
            } catch let error as MobileTokenError where error.isPassing {
                // Polling goes on, and deciding ends with the lease.
            } catch is CancellationError {
                break
            }
        } while (try? await self.clock.sleep(for: .seconds(1))) != nil
        let lease = self.held.withLock { held in
            held.buckets = []
            return held.lease
        }
        await assign(OperationsFleet.Assignment(buckets: []))
        guard let lease else { return }
        await shielded { [driver] in
            _ = try? await driver.asMember("stop polling") { database, _ in database.stopPolling(as: lease) }
        }
    }

    private func look(_ assign: (OperationsFleet.Assignment) async -> Void) async throws -> OperationsFleet.Assignment {
        let lease = try await self.driver.lease()
        let (owned, count) = try await self.driver.asMember("look") { database, now in database.look(as: lease, at: now)
        }
        if let before = self.held.withLock({ $0.lease }), before != lease {
            await assign(OperationsFleet.Assignment(buckets: [], processCount: count))
        }
        self.set(owned, lease)
        var share = BucketShare(count: self.bucketCount, startingAt: Int(truncatingIfNeeded: lease))
        for bucket in owned { share.add(bucket) }
        let surplus = Set(share.surplus(among: count))
        if !surplus.isEmpty {
            for bucket in surplus { share.remove(bucket) }
            self.set(share.owned, lease)
            await assign(OperationsFleet.Assignment(buckets: share.owned, processCount: count))
            try await self.driver.asMember("give back") { database, _ in database.giveBack(surplus, as: lease) }
        }
        let missing = share.missing(among: count)
        if missing > 0 {
            let taken = try await self.driver.asMember("take buckets") { database, _ in
                database.takeBuckets(missing, as: lease)
            }
            for bucket in taken { share.add(bucket) }
        }
        self.set(share.owned, lease)
        return OperationsFleet.Assignment(buckets: share.owned, processCount: count)
    }

    private func set(_ buckets: Set<Int>, _ lease: Int64) {
        self.held.withLock { $0 = Held(buckets: buckets, lease: lease) }
    }
}
