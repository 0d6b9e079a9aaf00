import Coordination
import MobileToken
import MobileTokenTesting
import PostgresDatabase
import PostgresTestServer
import PowerAuth
import StoreTesting
import TestSupport
import Testing

@testable import MobileTokenPostgres

@Suite(.timeLimit(.minutes(5)), .ifPostgresIsInstalled)
struct PostgresFleetMembershipTests {
    private let clock = ManualClock()

    /// A node's membership, and what it was assigned.
    private struct Member {
        let store: ActivationStore
        let membership: PostgresFleetMembership
        let assignment = Shared(OperationsFleet.Assignment(buckets: []))

        init(_ store: ActivationStore, _ clock: ManualClock) throws {
            self.store = store
            self.membership = try PostgresFleetMembership(store: store, clock: clock)
        }

        func run(before assign: @escaping @Sendable (OperationsFleet.Assignment) async -> Void = { _ in }) -> Task<
            Void, any Error
        > {
            Task { [membership, assignment] in
                try await membership.run {
                    await assign($0)
                    assignment.value = $0
                }
            }
        }

        var buckets: Set<Int> { self.assignment.value.buckets }
    }

    /// A lifetime that no test waits for: what is had is given back.
    private static func longLived(_ configuration: inout PostgresConfiguration) {
        configuration.lifetimes = NodeLifetimes(heartbeat: .seconds(60), death: .seconds(3_600))
    }

    /// Lets every node look once.
    private func look(_ count: Int) async {
        await self.clock.waitForSleepers(count)
        self.clock.advance(by: .seconds(1))
        await self.clock.waitForSleepers(count)
    }

    @Test func nodesShareAndTakeOver() async throws {
        try await withNodes { nodes in
            let (one, two) = (
                try Member(nodes.node("one", Self.longLived), self.clock),
                try Member(nodes.node("two", Self.longLived), self.clock)
            )
            let first = one.run()
            await self.clock.waitForSleepers(1)
            #expect(one.assignment.value == OperationsFleet.Assignment(buckets: Set(0..<64), processCount: 1))
            #expect((0..<64).allSatisfy { one.membership.holds($0) })

            let second = two.run()
            await self.clock.waitForSleepers(2)
            for _ in 0..<3 { await self.look(2) }
            #expect(one.buckets.count == 32)
            #expect(two.buckets == Set(0..<64).subtracting(one.buckets))
            #expect(two.assignment.value.processCount == 2)
            #expect((0..<64).allSatisfy { one.membership.holds($0) != two.membership.holds($0) })

            try await first.stop()
            #expect(one.buckets == [])
            await self.look(1)
            #expect(two.assignment.value == OperationsFleet.Assignment(buckets: Set(0..<64), processCount: 1))
            try await second.stop()
        }
    }

    /// Buckets in a database that refuses what it is told to.
    private struct ShakyBuckets: BucketDatabase {
        let base: PostgresBuckets
        let failures = Shared<[any Error]>([])

        func look(as lease: NodeLease) async throws -> (owned: Set<Int>, count: Int, readsAll: Bool) {
            if let failure = self.failures.update({ $0.isEmpty ? nil : $0.removeFirst() }) { throw failure }
            return try await self.base.look(as: lease)
        }

        func take(_ count: Int, as lease: NodeLease) async throws -> [Int] {
            try await self.base.take(count, as: lease)
        }

        func giveBack(_ buckets: [Int], as lease: NodeLease) async throws {
            try await self.base.giveBack(buckets, as: lease)
        }

        func leave(as lease: Int64) async throws { try await self.base.leave(as: lease) }
    }

    /// A password that is being rotated would otherwise end all nodes in the same second.
    @Test func noRefusalOfTheDatabaseEndsWhatHasBegun() async throws {
        struct VaultIsSealed: Error {}
        try await withNodes { nodes in
            let store = nodes.node("one", Self.longLived)
            let (driver, clock) = (try store.postgres, ServiceClock(self.clock))
            let buckets = ShakyBuckets(base: PostgresBuckets(driver: driver))
            let membership = PostgresFleetMembership(
                store,
                node: driver.node,
                buckets: buckets,
                clock: clock
            )
            let reports = Shared<[MobileTokenError.Code?]>([])
            let running = Task {
                try await membership.run { _ in
                } report: { failure in
                    reports.update { $0.append(failure?.code) }
                }
            }
            await self.clock.waitForSleepers(1)
            let codes: [MobileTokenError.Code] = [.storePermissions, .storeReadOnly, .invalidConfiguration]
            buckets.failures.value = codes.map { MobileTokenError($0, "refused") } + [VaultIsSealed()]
            for _ in 0..<5 { await self.look(1) }
            #expect(buckets.failures.value.isEmpty && membership.holds(0))
            #expect(reports.value == [nil] + codes + [.storeUnreachable, nil])
            try await running.stop()
            // At the start it is told at once.
            buckets.failures.value = [MobileTokenError(.storePermissions, "refused")]
            let error = await #expect(throws: MobileTokenError.self) { try await membership.run { _ in } }
            #expect(error?.code == .storePermissions)
        }
    }

    @Test func aBucketIsFreeOnlyWhenTheFleetHasLetGoOfIt() async throws {
        try await withNodes { nodes in
            let (one, two) = (
                try Member(nodes.node("one", Self.longLived), self.clock),
                try Member(nodes.node("two", Self.longLived), self.clock)
            )
            let (held, release) = (Signal(), Signal())
            let first = one.run { assignment in
                guard assignment.buckets.count == 32 else { return }
                held.raise()
                _ = await release.wait()
            }
            await self.clock.waitForSleepers(1)
            let second = two.run()
            await self.clock.waitForSleepers(2)
            self.clock.advance(by: .seconds(1))
            _ = await held.wait()
            await self.clock.waitForSleepers(1)
            #expect(two.buckets == [])
            #expect((0..<64).count { one.membership.holds($0) } == 32)
            release.raise()
            await self.clock.waitForSleepers(2)
            await self.look(2)
            #expect(two.buckets.count == 32)
            for task in [first, second] {
                try await task.stop()
            }
        }
    }

    /// Polling twice does no harm; deciding twice does.
    @Test func aNodeThatIsCutOffPollsOnAndDecidesNothing() async throws {
        try await withNodes { nodes in
            let proxy = try FaultProxy(to: nodes.server.port)
            let store = nodes.node("one") { configuration in
                configuration.connectionString = { [server = nodes.server] in server.connectionString(through: proxy) }
                configuration.statementTimeout = .milliseconds(200)
                configuration.connectTimeout = .milliseconds(500)
            }
            let (one, two) = (try Member(store, self.clock), try Member(nodes.node("two"), self.clock))
            let history = Shared<[Int]>([])
            let first = one.run { assignment in history.update { $0.append(assignment.buckets.count) } }
            await self.clock.waitForSleepers(1)
            proxy.mode = .freeze
            let second = two.run()
            while two.buckets.count < 64 { await self.look(1) }
            #expect(one.buckets.count == 64)
            #expect(!(0..<64).contains { one.membership.holds($0) })
            #expect((0..<64).allSatisfy { two.membership.holds($0) })

            proxy.mode = .pass
            proxy.cut()
            while one.buckets.count != 32 || two.buckets.count != 32 { await self.look(1) }
            // The node let go what it had before anything was taken over.
            #expect(history.value.starts(with: [64, 0]))
            #expect((0..<64).allSatisfy { one.membership.holds($0) != two.membership.holds($0) })
            for task in [first, second] {
                try await task.stop()
            }
        }
    }

    /// Whoever had the buckets between two leases may have decided.
    @Test func whatIsHadUnderAnotherLeaseIsTakenOverAnew() async throws {
        try await withNodes { nodes in
            let store = nodes.node("one", Self.longLived)
            try await store.insert(ActivationStoreConformance.record("a"))
            let one = try Member(store, self.clock)
            let history = Shared<[Int]>([])
            let running = one.run { assignment in history.update { $0.append(assignment.buckets.count) } }
            await self.clock.waitForSleepers(1)
            try nodes.connect().run("DELETE FROM node")
            try await store.withSigningTurn(of: "a") { _ in }  // finds the lease gone, and takes another
            await self.look(1)
            #expect(history.value == [64, 0, 64])
            try await running.stop()
        }
    }

    @Test func aDatabaseThatIsNotThereIsReported() async throws {
        try await withNodes { nodes in
            let store = nodes.node { $0.connectionString = { "host=/nonexistent" } }
            let error = await #expect(throws: MobileTokenError.self) {
                try await PostgresFleetMembership(store: store).run { _ in }
            }
            #expect(error?.code == .storeUnreachable)
        }
    }
}
