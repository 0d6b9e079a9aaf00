import HTTPClientTransport
import StoreTesting
import MobileToken
import MobileTokenTesting
import PostgresDatabase
import PowerAuth
import TestSupport
import Testing

@testable import MobileTokenPostgres

/// An activation that one node upgrades to version 4, and the other nodes.
@Suite(.timeLimit(.minutes(5)), .ifPostgresIsInstalled)
struct UpgradeTests {
    private static let password = "correct horse"
    private static let secret = SecretBytes(utf8: Self.password)

    /// A lease of one hour is one that a node of such lifetimes may have.
    private static func longLived(_ configuration: inout PostgresConfiguration) {
        configuration.lifetimes = NodeLifetimes(heartbeat: .seconds(60), death: .seconds(3_600))
    }

    private func offerUpgrades(_ emulator: Emulator) async throws {
        var rules = await emulator.protocolRules()
        rules.upgradeOffers = [emulator.applicationID]
        try await emulator.setProtocolRules(rules)
    }

    @Test(arguments: ["/upgrade/start", "/upgrade/confirm"])
    func oneNodeUpgradesWhileAnotherPolls(path: String) async throws {
        try await withEmulator { emulator in
            try await withNodes { nodes in
                let (started, start) = AsyncStream.makeStream(of: Void.self)
                let (released, release) = AsyncStream.makeStream(of: Void.self)
                let stopping = try WatchedTransport { request in
                    guard request.url.hasSuffix(path) else { return }
                    start.finish()
                    for await _ in released {}
                }
                let sent = Shared<[String]>([])
                let watched = try WatchedTransport { request in sent.update { $0.append(request.url) } }
                let one = try emulator.makeClient {
                    $0.store = nodes.node("one")
                    $0.transport = stopping
                    $0.suite = .p384
                }
                let other = try emulator.makeClient {
                    $0.store = nodes.node("other")
                    $0.transport = watched
                }
                let activation = try await emulator.makeActivation(user: "alice", password: Self.password, client: one)
                let twin = try await other.activation(id: activation.activationID)
                let list = other.makeOperationsService(for: twin)
                _ = try await list.operations()
                try await self.offerUpgrades(emulator)

                async let upgrade: Void = activation.upgrade(password: Self.secret)
                for await _ in started {}
                sent.value = []
                let hasPolled = Shared(false)
                async let poll: Void = {
                    defer { hasPolled.value = true }
                    _ = try await list.operations()
                }()
                let database = try nodes.connect()
                try await until {
                    try hasPolled.value || database.run("SELECT count(*) FROM wish", [], .none)[0].integer(0) == 1
                }
                #expect(sent.value == [], "nothing is sent between the steps of an upgrade")
                release.finish()
                try await upgrade
                try await poll
                #expect(twin.version == .v4_0)
                let payment = try await emulator.cloud.createOperation("login", userID: "alice")
                let operation = try #require(try await list.operations().first { $0.id == payment.id })
                try await list.authorize(operation, with: .possessionAndKnowledge(password: Self.password))
                #expect(try await twin.status().flags == [])
            }
        }
    }

    /// A program that knows nothing of forms, or says that it reads an earlier one.
    @Test(arguments: [true, false]) func anUpgradeIsRefusedWhileANodeCouldNotReadIt(isOfVersion1: Bool) async throws {
        try await withEmulator { emulator in
            try await withNodes { nodes in
                let client = try emulator.makeClient {
                    $0.store = nodes.node("one", Self.longLived)
                    $0.suite = .p384
                }
                let activation = try await emulator.makeActivation(
                    user: "alice",
                    password: Self.password,
                    client: client
                )
                try await self.offerUpgrades(emulator)
                let database = try nodes.connect()
                let columns = isOfVersion1 ? ("", "") : (", newest_format", ", 1")
                try database.run(
                    """
                    INSERT INTO node (number, name, expires_at\(columns.0))
                    VALUES (1, 'old', clock_timestamp() + interval '1 hour'\(columns.1))
                    """
                )
                let position = await emulator.journalPosition
                let error = await #expect(throws: MobileTokenError.self) {
                    try await activation.upgrade(password: Self.secret)
                }
                #expect(error?.code == .storeHasOlderNodes)
                #expect(error?.message.contains("old") == true)
                #expect(await emulator.journal(since: position).allSatisfy { !$0.path.contains("/upgrade/") })
                #expect(activation.version == .v3_3)
                try await activation.validate(.possessionAndKnowledge(password: Self.password))

                try database.run("UPDATE node SET expires_at = clock_timestamp() WHERE number = 1")
                try await activation.upgrade(password: Self.secret)
                #expect(activation.version == .v4_0)
                #expect(try await client.configuration.store?.isUpgrading(activation.activationID) == false)
            }
        }
    }

    @Test func anActivationCodeIsNotUsedUpWhileANodeCouldNotReadTheActivation() async throws {
        try await withEmulator { emulator in
            try await withNodes { nodes in
                let store = nodes.node("one", Self.longLived)
                let client = try emulator.makeClient {
                    $0.store = store
                    $0.version = .v4_0
                    $0.suite = .p384
                }
                try await store.open()
                let database = try nodes.connect()
                try database.run(
                    """
                    INSERT INTO node (number, name, expires_at)
                    VALUES (1, 'old', clock_timestamp() + interval '1 hour')
                    """
                )
                let registration = try await emulator.cloud.register(userID: "alice", protocolVersion: "4.0")
                let code = registration.activationQRCode
                let error = await #expect(throws: MobileTokenError.self) {
                    try await client.activate(code: code, password: Self.password)
                }
                #expect(error?.code == .storeHasOlderNodes)
                try database.run("DELETE FROM node WHERE number = 1")
                let activation = try await client.activate(code: code, password: Self.password)
                #expect(activation.version == .v4_0)
            }
        }
    }

    @Test func aNodeClaimsNothingThatItCannotRead() async throws {
        try await withNodes { nodes in
            let clock = ManualClock()
            let (newer, older) = (nodes.node("newer"), nodes.node("older") { $0.newestFormat = .version3 })
            let new = try #require(ActivationStoreConformance.version4Records("new").first)
            try await older.insert(ActivationStoreConformance.record("a"))
            let buckets = Shared<Set<Int>>([])
            let membership = try PostgresFleetMembership(store: older, clock: clock)
            let running = Task { try await membership.run { buckets.value = $0.buckets } }
            await clock.waitForSleepers(1)
            #expect(buckets.value.count == 64)
            // A newer program has written it before this one came.
            try await newer.insert(new)
            clock.advance(by: .seconds(1))
            await clock.waitForSleepers(1)
            #expect(buckets.value == [])
            #expect((0..<64).allSatisfy { !membership.holds($0) })
            try await older.withSigningTurn(of: "a") { _ in }
            let error = await #expect(throws: MobileTokenError.self) {
                try await older.withSigningTurn(of: new.activationID) { _ in }
            }
            #expect(error?.code == .storeFromFuture)
            try await newer.withSigningTurn(of: new.activationID) { _ in }

            try await newer.remove(new.activationID)
            clock.advance(by: .seconds(1))
            await clock.waitForSleepers(1)
            #expect(buckets.value.count == 64)
            try await running.stop()
        }
    }

    /// The tables of the version before, with a node of it that goes on while this one migrates.
    @Test func twoVersionsOfTheProgramShareTheTables() async throws {
        try await withNodes { nodes in
            let before = PostgresSchema(name: nodes.schema, steps: Array(PostgresSchema.steps.prefix(1)))
            let old = try nodes.connect()
            try before.prepare(old, migrates: true)
            func write(_ number: Int64) throws {
                try old.run("INSERT INTO incarnation (system_identifier, timeline, reason) VALUES ('1', '1', 'test')")
                try old.run(
                    "INSERT INTO node (number, name, expires_at) VALUES ($1, 'old', now() + interval '1 hour')",
                    [.integer(number)]
                )
                try old.run("DELETE FROM node WHERE number = $1", [.integer(number)])
            }
            try write(1)
            let node = nodes.node("new")
            try await node.insert(ActivationStoreConformance.record("a"))
            try write(2)
            try before.prepare(old, migrates: false)
            try await node.withSigningTurn(of: "a") { turn in _ = try await turn.update { $0.takeMove() } }
            #expect(try await node.nodes().map(\.newestFormat) == [.newest])
        }
    }
}

/// A real transport, with somebody who looks at requests before they leave.
private struct WatchedTransport: HTTPTransport {
    private let base: CurlTransport
    private let watch: @Sendable (HTTPRequest) async -> Void

    init(_ watch: @escaping @Sendable (HTTPRequest) async -> Void) throws {
        self.base = try CurlTransport()
        self.watch = watch
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        await self.watch(request)
        return try await self.base.send(request)
    }
}
