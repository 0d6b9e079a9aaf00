import Coordination
import Dispatch
import Foundation
import StoreTesting
import MobileToken
import MobileTokenTesting
import PostgresDatabase
import PostgresTestServer
import PowerAuth
import PowerAuthCrypto
import TestSupport
import Testing

@testable import MobileTokenPostgres

/// Lists on their way from the node that polls to the others.
@Suite(.timeLimit(.minutes(3)), .enabled(if: PostgresTestServer.isInstalled, "no PostgreSQL server is installed"))
struct ListExchangeTests {
    /// A node that takes part for as long as its tasks run.
    private struct Member {
        let store: ActivationStore
        let membership: PostgresFleetMembership
        /// The operations shown last, by activation.
        let shown = Shared<[String: [String]]>([:])
        let failures = Shared<[MobileTokenError]>([])
        private let tasks = Shared<[Task<Void, Never>]>([])

        init(_ store: ActivationStore, clock: any Clock<Duration> = ContinuousClock()) throws {
            self.store = store
            self.membership = try PostgresFleetMembership(store: store, clock: clock)
        }

        /// Takes part in the polls.
        func join(assign: @escaping @Sendable (OperationsFleet.Assignment) async -> Void = { _ in }) {
            let task = Task { [membership] in _ = try? await membership.run(assign: assign) }
            self.tasks.update { $0.append(task) }
        }

        /// Takes buckets, until it has them all.
        func poll(assign: @escaping @Sendable (OperationsFleet.Assignment) async -> Void = { _ in }) async {
            self.join(assign: assign)
            await until { (0..<64).allSatisfy { self.membership.holds($0) } }
        }

        func follow() {
            let receiver = ListReceiver { [shown] listing in
                shown.update { $0[listing.activationID] = listing.operations.map(\.id) }
            } failed: { [failures] error in
                failures.update { $0.append(error) }
            }
            let task = Task { [membership] in await membership.follow(receiver) }
            self.tasks.update { $0.append(task) }
        }

        func recordPoll(_ id: String, _ operations: [String]) {
            self.membership.recordPoll(Self.listing(id, operations))
        }

        static func listing(_ id: String, _ operations: [String]) -> FleetListing {
            FleetListing(
                activationID: id,
                operations: operations.map {
                    UserOperation(id: $0, name: "login", data: "A2", created: Date(timeIntervalSince1970: 0))
                },
                serverDate: Date(timeIntervalSince1970: 60)
            )
        }

        func stop() async {
            for task in self.tasks.value { task.cancel() }
            for task in self.tasks.value { await task.value }
            self.tasks.value = []
        }
    }

    private static func insert(_ ids: [String], _ store: ActivationStore) async throws {
        for id in ids { try await store.insert(ActivationStoreConformance.record(id)) }
    }

    /// The versions of all lists, to see whether anything was written.
    private static func versions(_ store: ActivationStore) async throws -> [Int64] {
        try await store.postgres.withConnection { connection in
            try connection.run("SELECT version FROM list ORDER BY slot", [], .none).map { try $0.integer(0) }
        }
    }

    @Test(arguments: [false, true]) func whatOneNodePollsTheOtherShows(pollOnly: Bool) async throws {
        try await withNodes { nodes in
            let change = { (configuration: inout PostgresConfiguration) in
                configuration.pollOnly = pollOnly
            }
            let (one, two) = (try Member(nodes.node("one", change)), try Member(nodes.node("two", change)))
            try await Self.insert(["a", "b"], one.store)
            await one.poll()
            for member in [one, two] { member.follow() }
            one.recordPoll("a", ["1", "2"])
            one.recordPoll("b", [])
            await until { two.shown.value == ["a": ["1", "2"]] }
            one.recordPoll("a", ["2", "3"])
            await until { two.shown.value == ["a": ["2", "3"]] }
            one.recordPoll("a", [])
            await until { two.shown.value == ["a": []] }
            #expect(two.membership.lastListing(of: "a") == Member.listing("a", []))
            // A fleet passes over what it polls itself, and would lack the last list of an activation that it has just let go of.
            await until { one.shown.value == ["a": []] }
            for member in [one, two] { await member.stop() }
        }
    }

    @Test func aNodeThatComesLaterFindsTheListsThatStand() async throws {
        try await withNodes { nodes in
            let (one, two) = (try Member(nodes.node("one")), try Member(nodes.node("two")))
            let ids = (0..<ListTable.pageSize + 50).map { "activation \($0)" }
            try await Self.insert(ids, one.store)
            await one.poll()
            one.follow()
            for id in ids { one.recordPoll(id, ["of " + id]) }
            try await until { try await Self.versions(one.store).count == ids.count }
            two.follow()
            await until { two.shown.value.count == ids.count }
            #expect(two.shown.value.allSatisfy { $1 == ["of " + $0] })
            for member in [one, two] { await member.stop() }
        }
    }

    /// Or else they would be refused, and the node would show again what had left.
    @Test func whatWaitsIsWrittenBeforeBucketsAreGivenBack() async throws {
        let clock = ManualClock()
        try await withNodes { nodes in
            let (one, two) = (try Member(nodes.node("one"), clock: clock), try Member(nodes.node("two")))
            let ids = (0..<64).map { "activation \($0)" }
            try await Self.insert(ids, one.store)
            let released = Shared<[String]?>(nil)
            await one.poll { assignment in
                guard !assignment.buckets.isEmpty, assignment.buckets.count < 64 else { return }
                let lost = ids.filter { !assignment.buckets.contains(OperationsFleet.Buckets.bucket(of: $0)) }
                released.value = lost
                // After the first one the writer pauses, for as long as the clock stands still.
                one.recordPoll(lost[0], ["1"])
                _ = try? await until { try await !Self.versions(one.store).isEmpty }
                for id in lost { one.recordPoll(id, ["1", "2"]) }
            }
            for member in [one, two] { member.follow() }
            await until { one.membership.lastListing(of: ids[0]) != nil }
            two.join()
            while released.value == nil {
                clock.advance(by: .seconds(1))
                await Task.yield()
            }
            let lost = try #require(released.value)
            await until { lost.allSatisfy { two.shown.value[$0] == ["1", "2"] } }
            #expect(lost.allSatisfy { one.membership.lastListing(of: $0)?.operations.count == 2 })
            for member in [one, two] { await member.stop() }
        }
    }

    @Test func whoFollowsAnewIsShownEverythingAnew() async throws {
        try await withNodes { nodes in
            let (one, two) = (try Member(nodes.node("one")), try Member(nodes.node("two")))
            try await Self.insert(["a"], one.store)
            await one.poll()
            one.follow()
            one.recordPoll("a", ["1"])
            for _ in 0..<2 {
                two.follow()
                await until { two.shown.value == ["a": ["1"]] }
                await two.stop()
                two.shown.value = [:]
            }
            await one.stop()
        }
    }

    @Test func whatKeepsListsFromBeingReadIsReported() async throws {
        try await withNodes { nodes in
            let one = try Member(nodes.node { $0.connectionString = { "host=/nonexistent" } })
            one.follow()
            await until { one.failures.value.first?.code == .storeUnreachable }
            await one.stop()
        }
    }

    @Test func aPollThatFindsNothingNewWritesNothing() async throws {
        try await withNodes { nodes in
            let one = try Member(nodes.node("one"))
            try await Self.insert(["a", "b"], one.store)
            await one.poll()
            one.follow()
            one.recordPoll("a", ["1"])
            try await until { try await Self.versions(one.store).count == 1 }
            let before = try await Self.versions(one.store)
            for _ in 0..<10 { one.recordPoll("a", ["1"]) }
            one.recordPoll("b", ["1"])  // behind which the others would have been written
            try await until { try await Self.versions(one.store).count == 2 }
            #expect(try await Self.versions(one.store).first == before.first)
            await one.stop()
        }
    }

    /// The node that writes gives no notifications, so none arrives.
    @Test func aHintThatIsLostDelaysAListByTheIntervalOfTheReader() async throws {
        let clock = ManualClock()
        try await withNodes { nodes in
            let one = try Member(nodes.node("one") { $0.pollOnly = true })
            let two = try Member(nodes.node("two"), clock: clock)
            try await Self.insert(["a"], one.store)
            await one.poll()
            one.follow()
            two.follow()
            // The first wait ends when listening begins, and everything is read once more before the second.
            for _ in 0..<2 { while await clock.nextSleep() != .seconds(5) {} }
            one.recordPoll("a", ["1"])
            try await until { try await Self.versions(one.store).count == 1 }
            #expect(two.shown.value.isEmpty)
            while two.shown.value.isEmpty {
                await clock.waitForSleepers(1)
                clock.advance(by: .seconds(5))
            }
            #expect(two.shown.value == ["a": ["1"]])
            for member in [one, two] { await member.stop() }
        }
    }

    /// As in a database that others use as well.
    @Test func aLongTransactionInAnotherDatabaseDelaysNothingAndIsSeen() async throws {
        let server = try await PostgresTestServer.start()
        try await withNodes(server) { nodes in
            let (one, two) = (try Member(nodes.node("one")), try Member(nodes.node("two")))
            try await Self.insert(["a", "b"], one.store)
            await one.poll()
            for member in [one, two] { member.follow() }
            var options = PostgresConnection.Options()
            options.statementTimeout = .seconds(600)
            let pool = PostgresPool(size: 1, options: options) {
                let elsewhere = "host=\(server.folder) port=\(server.port) user=postgres dbname=template1"
                return PostgresTarget(connectionString: elsewhere, tls: .disabled)
            }
            let (hasBegun, end) = (Shared(false), DispatchSemaphore(value: 0))
            let transaction = Task {
                try await pool.withConnection { connection in
                    try connection.transaction { transaction in
                        try transaction.run("SELECT pg_current_xact_id()")
                        hasBegun.value = true
                        end.wait()
                    }
                }
            }
            await until { hasBegun.value }
            for number in 1...3 {
                one.recordPoll("a", ["\(number)"])
                await until { two.shown.value["a"] == ["\(number)"] }
            }
            await until { two.membership.oldestTransactionAge > .zero }
            end.signal()
            try await transaction.value
            one.recordPoll("b", ["1"])
            await until { two.shown.value["b"] == ["1"] }
            await until { two.membership.oldestTransactionAge == .zero }
            for member in [one, two] { await member.stop() }
        }
    }

    /// The late write of a machine that was frozen is refused when it goes on.
    @Test func aLateWriteOfANodeThatLostItsBucketsIsRefused() async throws {
        try await withNodes { nodes in
            let (one, two) = (nodes.node("one"), nodes.node("two"))
            try await Self.insert(["a"], one)
            let change = ListTable.Change(activationID: "a", body: [1])
            func write(_ store: ActivationStore, as lease: NodeLease) async throws -> Int {
                try await store.postgres.withConnection { try ListTable.write([change], as: lease, key: 1, $0).count }
            }
            let old = try await one.postgres.node.lease()
            #expect(try await write(one, as: old) == 0)  // not its bucket yet
            _ = try await PostgresBuckets(driver: one.postgres).take(64, as: old)
            #expect(try await write(one, as: old) == 1)

            try await one.postgres.node.database.leave(old)
            let new = try await two.postgres.node.lease()
            _ = try await PostgresBuckets(driver: two.postgres).take(64, as: new)
            #expect(try await write(one, as: old) == 0)
            #expect(try await write(two, as: new) == 1)
            #expect(try await write(one, as: old) == 0)
        }
    }

    /// The younger node has a greater number, and left its lists behind.
    @Test func aNodeThatTakesBucketsOverFromAYoungerOneWrites() async throws {
        try await withNodes { nodes in
            let (one, two) = (nodes.node("one"), nodes.node("two"))
            try await Self.insert(["a"], one)
            let change = ListTable.Change(activationID: "a", body: [1])
            func write(_ store: ActivationStore, as lease: NodeLease) async throws -> Int {
                _ = try await PostgresBuckets(driver: store.postgres).take(64, as: lease)
                return try await store.postgres.withConnection {
                    try ListTable.write([change], as: lease, key: 1, $0).count
                }
            }
            let (older, younger) = (try await one.postgres.node.lease(), try await two.postgres.node.lease())
            #expect(try await write(two, as: younger) == 1)
            #expect(try await write(one, as: older) == 0)
            try await two.postgres.node.database.leave(younger)
            #expect(try await write(one, as: older) == 1)
        }
    }

    /// Both nodes are cut off, and the node that polls goes on as if nothing had happened.
    @Test func aNodeThatIsCutOffWritesWhenItIsBack() async throws {
        try await withNodes { nodes in
            let proxy = try FaultProxy(to: nodes.server.port)
            let store = nodes.node("one") { configuration in
                configuration.connectionString = { [server = nodes.server] in server.connectionString(through: proxy) }
                configuration.statementTimeout = .milliseconds(200)
                configuration.connectTimeout = .milliseconds(500)
            }
            let (one, two) = (try Member(store), try Member(nodes.node("two")))
            try await Self.insert(["a"], two.store)
            await one.poll()
            for member in [one, two] { member.follow() }
            one.recordPoll("a", ["1"])
            await until { two.shown.value["a"] == ["1"] }
            let connections = proxy.connectionCount
            proxy.mode = .freeze
            one.recordPoll("a", ["2"])
            await until { proxy.connectionCount > connections }
            proxy.mode = .pass
            proxy.cut()
            // The polls that follow find the same.
            while two.shown.value["a"] != ["2"] {
                one.recordPoll("a", ["2"])
                await Task.yield()
            }
            for member in [one, two] { await member.stop() }
        }
    }

    @Test func aDatabaseThatWentBackIsReadFromTheBeginning() async throws {
        let server = try await PostgresTestServer.start()
        try await withNodes(server) { nodes in
            let (one, two) = (try Member(nodes.node("one")), try Member(nodes.node("two")))
            try await Self.insert(["a", "b"], one.store)
            await one.poll()
            for member in [one, two] { member.follow() }
            one.recordPoll("a", ["1"])
            await until { two.shown.value == ["a": ["1"]] }
            try await server.stop()
            try await server.backUp(to: "backup")
            try await server.start()
            while two.shown.value != ["a": ["1", "2"], "b": ["3"]] {
                one.recordPoll("a", ["1", "2"])
                one.recordPoll("b", ["3"])
                await Task.yield()
            }
            await one.stop()
            try await server.stop()
            try await server.restore("backup")
            try await server.promote()
            await until { two.shown.value == ["a": ["1"], "b": []] }

            let three = try Member(nodes.node("three"))
            await three.poll()
            three.follow()
            three.recordPoll("b", ["4"])
            await until { two.shown.value == ["a": ["1"], "b": ["4"]] }
            for member in [two, three] { await member.stop() }
        }
    }

    @Test func listsAreSealedAndGetAnotherKey() async throws {
        try await withNodes { nodes in
            let (old, new) = (PostgresStoreFixture.key(1), PostgresStoreFixture.key(2))
            let one = try Member(nodes.node("one") { $0.sealingKeys = SealingKeyRing(current: old) })
            try await Self.insert(["a"], one.store)
            await one.poll()
            one.follow()
            one.recordPoll("a", ["a secret"])
            try await until { try await Self.versions(one.store).count == 1 }
            let body = try await one.store.postgres.withConnection {
                try $0.run("SELECT body FROM list", [], .none)[0].bytes(0)
            }
            #expect(!String(decoding: body, as: UTF8.self).contains("secret"))
            try await one.store.use(SealingKeyRing(current: new, earlier: [old]))
            try await one.store.reseal()
            #expect(try await one.store.retireUnusedKeys() == 1)
            let two = try Member(nodes.node("two") { $0.sealingKeys = SealingKeyRing(current: new) })
            two.follow()
            await until { two.shown.value == ["a": ["a secret"]] }
            for member in [one, two] { await member.stop() }
        }
    }

    /// A list that is passed over is not shown before it changes.
    @Test func aListWhoseKeyCannotBeFetchedForAMomentIsReadAgain() async throws {
        struct VaultIsSealed: Error {}
        try await withNodes { nodes in
            let (old, failures) = (PostgresStoreFixture.key(1), Shared(0))
            let shaky = SealingKey.closure {
                let fails = failures.update { count in
                    guard count > 0 else { return false }
                    count -= 1
                    return true
                }
                if fails { throw VaultIsSealed() }
                return SecretBytes(copying: [UInt8](repeating: 2, count: 32))
            }
            let one = try Member(nodes.node("one") { $0.sealingKeys = SealingKeyRing(current: old) })
            let two = try Member(
                nodes.node("two") { $0.sealingKeys = SealingKeyRing(current: old, earlier: [shaky]) }
            )
            try await Self.insert(["a"], one.store)
            await one.poll()
            for member in [one, two] { member.follow() }
            one.recordPoll("a", ["1"])
            await until { two.shown.value == ["a": ["1"]] }
            failures.value = 1
            try await one.store.use(SealingKeyRing(current: PostgresStoreFixture.key(2), earlier: [old]))
            one.recordPoll("a", ["2"])
            await until { two.shown.value == ["a": ["2"]] }
            #expect(failures.value == 0)
            for member in [one, two] { await member.stop() }
        }
    }

    /// A database whose transactions are told.
    private struct ScriptedLists: ListDatabase {
        /// The last one stays.
        let horizons: Shared<[ListHorizon]>
        let clock: ManualClock
        let pageSize = 10

        func write(
            _ listings: [FleetListing],
            as lease: NodeLease
        ) async throws -> [(activationID: String, place: ListPlace)] { [] }

        func notifyReaders() async throws {}

        func read(after cursor: ListCursor) async throws -> ListPage {
            let next = self.horizons.update { $0.count > 1 ? $0.removeFirst() : $0.first }
            return ListPage(horizon: try #require(next), rows: [], isFull: false)
        }

        func waitForNews() async throws { try await self.clock.sleep(for: .seconds(10)) }
    }

    /// Its numbers went back, and the transaction that was the oldest may be one that will never be.
    @Test func anotherDatabaseHasNoOldTransactions() async throws {
        try await withNodes { nodes in
            let clock = ManualClock()
            let before = ListHorizon(oldest: 5, next: 9, epoch: .init(number: 1, begun: 1))
            let after = ListHorizon(oldest: 3, next: 4, epoch: .init(number: 2, begun: 1))
            let lists = ScriptedLists(horizons: Shared([before, before, after]), clock: clock)
            let exchange = ListExchange(lists, try nodes.node().postgres.node, clock: ServiceClock(clock))
            let running = Task {
                await exchange.run(
                    ListReceiver { _ in
                    } failed: { _ in
                    }
                )
            }
            await clock.waitForSleepers(1)
            for age in [Duration.seconds(10), .zero, .seconds(10)] {
                clock.advance(by: .seconds(10))
                await clock.waitForSleepers(1)
                #expect(exchange.oldestTransactionAge == age)
            }
            running.cancel()
            await running.value
        }
    }
}
