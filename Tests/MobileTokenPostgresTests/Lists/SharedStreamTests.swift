import Foundation
import MobileToken
import MobileTokenEmulator
import MobileTokenPostgres
import MobileTokenTesting
import PostgresTestServer
import PowerAuth
import TestSupport
import Testing

/// Nodes of one bank: each polls a share, and shows everything.
@Suite(.timeLimit(.minutes(3)), .enabled(if: PostgresTestServer.isInstalled, "no PostgreSQL server is installed"))
struct SharedStreamTests {
    private static let password = "correct horse"
    private static let users = (0..<8).map { "user \($0)" }

    /// A node with its fleet, whose polls wait for the test.
    private final class Node: Sendable {
        let clock = ManualClock()
        let fleet: OperationsFleet
        let client: MobileTokenClient
        /// The lists that a reader makes of the changes, operation by operation.
        let lists = Shared<[String: Set<String>]>([:])
        let removals = Shared<[OperationList.Change.RemovalReason]>([])
        private let tasks = Shared<[Task<Void, Never>]>([])

        /// - Parameter hours: The number of hours by which its clock is wrong.
        init(_ emulator: Emulator, _ store: ActivationStore, aheadByHours hours: Double = 0) throws {
            let clock = self.clock
            self.client = try emulator.makeClient { configuration in
                configuration.store = store
                configuration.clock = clock
                configuration.wallClock = { Date() + hours * 3_600 }
            }
            var configuration = OperationsFleet.Configuration()
            configuration.membership = try PostgresFleetMembership(store: store)
            self.fleet = self.client.fleet(configuration: configuration)
        }

        func run(_ work: @escaping @Sendable () async throws -> Void) {
            let task = Task { _ = try? await work() }
            self.tasks.update { $0.append(task) }
        }

        func start() {
            let reader = Task { [fleet, lists, removals] in
                for await news in fleet.changes() {
                    removals.update { $0 += news.change.removed.map(\.reason) }
                    lists.update { lists in
                        lists[news.activationID, default: []].subtract(news.change.removed.map(\.operation.id))
                        lists[news.activationID, default: []].formUnion(news.change.added.map(\.id))
                    }
                }
            }
            self.tasks.update { $0.append(reader) }
        }

        /// Lets polls fall due until a condition holds.
        func poll(until condition: () async throws -> Bool) async rethrows {
            while !Task.isCancelled, try await !condition() {
                self.clock.advance(by: .seconds(1))
                await Task.yield()
            }
        }

        func stop() async {
            for task in self.tasks.value { task.cancel() }
            for task in self.tasks.value { await task.value }
        }
    }

    /// Lets time pass for all nodes until a condition holds: one that stands still keeps what waits for its limiter.
    private static func poll(_ nodes: [Node], until condition: () async throws -> Bool) async rethrows {
        while !Task.isCancelled, try await !condition() {
            for node in nodes { node.clock.advance(by: .seconds(1)) }
            await Task.yield()
        }
    }

    /// Lets time pass for two nodes until each polls half of the buckets, in which any number of the activations may be, none and all
    /// of them as well.
    private static func poll(_ nodes: [Node], untilDivided store: ActivationStore) async throws {
        try await self.poll(nodes) { try await store.nodes().map(\.bucketCount) == [32, 32] }
    }

    private static func makeActivations(_ emulator: Emulator, _ client: MobileTokenClient) async throws -> [String] {
        var ids: [String] = []
        for user in self.users {
            ids.append(
                try await emulator.makeActivation(user: user, password: self.password, client: client).activationID
            )
        }
        return ids
    }

    /// Polls fall due as fast as a test can ask for them: hours of the nodes' time pass, and minutes of the server's on a busy machine.
    private static func makeOperation(_ emulator: Emulator, _ user: String) async throws -> String {
        try await emulator.cloud.createOperation("login", userID: user, lifetime: .seconds(31_536_000)).id
    }

    @Test func everyNodeShowsWhatAnyNodePolls() async throws {
        try await withEmulator { emulator in
            try await withNodes { nodes in
                let (one, two) = (try Node(emulator, nodes.node("one")), try Node(emulator, nodes.node("two")))
                let ids = try await Self.makeActivations(emulator, one.client)
                for node in [one, two] {
                    node.start()
                    node.run { try await node.fleet.run() }
                }
                var operations: [String] = []
                for user in Self.users { operations.append(try await Self.makeOperation(emulator, user)) }
                await Self.poll([one, two]) {
                    [one, two].allSatisfy { $0.lists.value.values.count { $0.count == 1 } == ids.count }
                }
                #expect(one.lists.value == two.lists.value)
                // Each polls a share of its own, once both know of each other.
                try await Self.poll([one, two], untilDivided: nodes.node())
                await until { await Set(one.fleet.activationIDs + two.fleet.activationIDs) == Set(ids) }

                try await emulator.cloud.cancelOperation(try #require(operations.first))
                await Self.poll([one, two]) { [one, two].allSatisfy { $0.lists.value[ids[0]] == [] } }
                for node in [one, two] { #expect(node.removals.value == [.disappeared]) }
                for node in [one, two] { await node.stop() }
            }
        }
    }

    /// A reader of the shared lists does not notice that an activation moves from one node to another.
    @Test func aHandoverIsSeenByNobody() async throws {
        try await withEmulator { emulator in
            try await withNodes { nodes in
                let (one, two) = (try Node(emulator, nodes.node("one")), try Node(emulator, nodes.node("two")))
                let ids = try await Self.makeActivations(emulator, one.client)
                for user in Self.users { _ = try await Self.makeOperation(emulator, user) }
                one.start()
                one.run { try await one.fleet.run() }
                await one.poll { one.lists.value.count == ids.count }
                two.start()
                two.run { try await two.fleet.run() }
                try await Self.poll([one, two], untilDivided: nodes.node())
                await Self.poll([one, two]) { two.lists.value.count == ids.count }
                await one.stop()
                await two.poll { await two.fleet.health.counts == [.active: ids.count] }
                #expect(two.lists.value.values.allSatisfy { $0.count == 1 })
                #expect(two.removals.value == [])
                await two.stop()
            }
        }
    }

    @Test func theClocksOfTheNodesMayBeHoursApart() async throws {
        try await withEmulator { emulator in
            try await withNodes { nodes in
                let fast = try Node(emulator, nodes.node("fast"), aheadByHours: 1)
                let slow = try Node(emulator, nodes.node("slow"), aheadByHours: -1)
                let ids = try await Self.makeActivations(emulator, fast.client)
                for node in [fast, slow] {
                    node.run {
                        let agent = ApprovalAgent(
                            fleet: node.fleet,
                            factors: { try await $0.unlockKnowledge(password: Self.password) }
                        ) { _ in .approve }
                        try await agent.run()
                    }
                }
                try await Self.poll([fast, slow], untilDivided: nodes.node())
                for user in Self.users { _ = try await Self.makeOperation(emulator, user) }
                while await emulator.operations().contains(where: { $0.status == .pending }) {
                    for node in [fast, slow] { node.clock.advance(by: .seconds(1)) }
                    await Task.yield()
                }
                #expect(await emulator.operations().map(\.status) == ids.map { _ in .approved })
                #expect(await emulator.activations().allSatisfy { $0.failedAttempts == 0 })
                for node in [fast, slow] { await node.stop() }
            }
        }
    }

    /// Everybody sees an operation, and one node decides.
    @Test func theAgentOfTheNodeThatPollsIsAsked() async throws {
        try await withEmulator { emulator in
            try await withNodes { nodes in
                let (one, two) = (try Node(emulator, nodes.node("one")), try Node(emulator, nodes.node("two")))
                let ids = try await Self.makeActivations(emulator, one.client)
                let asked = Shared<[String]>([])
                for node in [one, two] {
                    node.start()
                    node.run {
                        let agent = ApprovalAgent(fleet: node.fleet, factors: { _ in Authentication.possession }) {
                            review in
                            asked.update { $0.append(review.operation.id) }
                            return .leave
                        }
                        try await agent.run()
                    }
                }
                try await Self.poll([one, two], untilDivided: nodes.node())
                var operations: Set<String> = []
                for user in Self.users {
                    operations.insert(try await Self.makeOperation(emulator, user))
                }
                while asked.value.count < ids.count || [one, two].contains(where: { $0.lists.value.count < ids.count })
                {
                    for node in [one, two] { node.clock.advance(by: .seconds(1)) }
                    await Task.yield()
                }
                #expect(Set(asked.value) == operations)
                #expect(asked.value.count == operations.count)
                for node in [one, two] { await node.stop() }
            }
        }
    }
}
