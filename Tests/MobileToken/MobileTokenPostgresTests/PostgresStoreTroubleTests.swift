import StoreTesting
import MobileTokenPostgres
import PostgresTestServer
import PowerAuth
import TestSupport
import Testing

/// A database that is slow, gone, full, replaced, or put back.
@Suite(.timeLimit(.minutes(5)), .ifPostgresIsInstalled)
struct PostgresStoreTroubleTests {
    /// The reply to a commit is lost: it was made, and must not be made again.
    @Test func aCommitWhoseReplyIsLostIsMadeOnce() async throws {
        try await withNodes { nodes in
            let proxy = try FaultProxy(to: nodes.server.port)
            let store = nodes.node { configuration in
                configuration.connectionString = { [server = nodes.server] in server.connectionString(through: proxy) }
                configuration.statementTimeout = .seconds(1)
                configuration.lifetimes = NodeLifetimes(heartbeat: .seconds(60), death: .seconds(3_600))
            }
            try await store.insert(ActivationStoreConformance.record("a"))
            // Within turns nothing is read before it is changed, so that what is lost is the reply to the change.
            try await store.withSigningTurn(of: "a") { turn in _ = try await turn.update { $0.takeMove() } }
            for number in 1...4 {
                try await store.withSigningTurn(of: "a") { turn in
                    let intent = ActivationStoreConformance.intent("a", "\(number)")
                    let sent = proxy.sentByteCount
                    proxy.mode = .loseReplies
                    let change = Task { try await turn.update(recording: intent) { $0.takeMove() } }
                    await until { proxy.sentByteCount > sent }
                    proxy.mode = .pass
                    if number.isMultiple(of: 2) { proxy.cut() }
                    let move = try await change.value
                    #expect(move == 506 + UInt64(number))
                }
            }
            #expect(try await store.record(of: "a")?.counterMoves == 511)
            #expect(try await store.openDecisions(of: "a").map(\.moves) == [508, 509, 510, 511])
        }
    }

    @Test func aServerThatIsGoneIsUnreachableAndComesBack() async throws {
        let server = try await PostgresTestServer.start(.init(isDurable: true))
        try await withNodes(server) { nodes in
            let store = nodes.node()
            try await store.insert(ActivationStoreConformance.record("a"))
            try await store.withSigningTurn(of: "a") { turn in _ = try await turn.update { $0.takeMove() } }
            try await server.crash()
            let error = await #expect(throws: MobileTokenError.self) { try await store.update("a") { $0.takeMove() } }
            #expect(error?.code == .storeUnreachable)
            #expect(error?.isPassing == true)
            try await server.start()
            #expect(try await store.update("a") { $0.takeMove() } == 507)
            try await store.withSigningTurn(of: "a") { turn in _ = try await turn.update { $0.takeMove() } }
            #expect(try await store.record(of: "a")?.counterMoves == 509)
        }
    }

    @Test func aServerThatMayNotWriteSaysSo() async throws {
        let server = try await PostgresTestServer.start()
        try await withNodes(server) { nodes in
            let store = nodes.node()
            try await store.insert(ActivationStoreConformance.record("a"))
            try await server.reload(["default_transaction_read_only = on"])
            // Sessions take the setting up when they read the configuration, each in its own time.
            var code: MobileTokenError.Code?
            while code == nil {
                do { try await store.update("a") { _ = $0.takeMove() } } catch let error as MobileTokenError {
                    code = error.code
                }
            }
            #expect(code == .storeReadOnly)
            #expect(try await store.record(of: "a") != nil)
            await #expect(throws: MobileTokenError.self) { try await store.prove() }
        }
    }

    @Test func aWrongKeyOpensNothing() async throws {
        try await withNodes { nodes in
            try await nodes.node("one").insert(ActivationStoreConformance.record("a"))
            let other = nodes.node("other") { $0.sealingKeys = SealingKeyRing(current: PostgresStoreFixture.key(8)) }
            let error = await #expect(throws: MobileTokenError.self) { try await other.open() }
            #expect(error?.code == .storeWrongSealingKey)
        }
    }

    @Test func theKeyIsReplacedWhileNodesSign() async throws {
        try await withNodes { nodes in
            let (old, new) = (PostgresStoreFixture.key(1), PostgresStoreFixture.key(2))
            let one = nodes.node("one") { $0.sealingKeys = SealingKeyRing(current: old) }
            let other = nodes.node("other") { $0.sealingKeys = SealingKeyRing(current: old) }
            let intent = ActivationStoreConformance.intent("a", "1")
            for id in ["a", "b"] { try await one.insert(ActivationStoreConformance.record(id)) }
            try await one.update("a", recording: intent) { _ = $0.takeMove() }
            try await one.record(ActivationStoreConformance.outcome(.accepted), ofMove: 507, of: "a")
            for store in [one, other] { try await store.use(SealingKeyRing(current: old, earlier: [new])) }
            let signing = Task {
                while !Task.isCancelled { try await other.update("b") { _ = $0.takeMove() } }
            }
            for store in [one, other] { try await store.use(SealingKeyRing(current: new, earlier: [old])) }
            try await one.reseal()
            #expect(try await one.retireUnusedKeys() == 1)
            signing.cancel()
            _ = await signing.result

            let fresh = nodes.node("fresh") { $0.sealingKeys = SealingKeyRing(current: new) }
            #expect(try await fresh.record(of: "a")?.counterMoves == 507)
            #expect(try await fresh.record(of: "b") == one.record(of: "b"))
            let receipt = try await fresh.receipts(of: nil, after: 0, limit: 10)
            #expect(receipt.map(\.intent.decision) == [intent])
            #expect(receipt.first?.outcome?.result == .accepted)
        }
    }

    /// A node that was left with a ring of before: the key that it seals with is retired.
    @Test(arguments: [false, true]) func aNodeWithARetiredKeyIsToldSo(knowsNewKey: Bool) async throws {
        try await withNodes { nodes in
            let (old, new) = (PostgresStoreFixture.key(1), PostgresStoreFixture.key(2))
            let one = nodes.node("one") { $0.sealingKeys = SealingKeyRing(current: old) }
            let left = nodes.node("left") {
                $0.sealingKeys = SealingKeyRing(current: old, earlier: knowsNewKey ? [new] : [])
            }
            try await one.insert(ActivationStoreConformance.record("a"))
            let intent = ActivationStoreConformance.intent("a", "1")
            try await left.update("a", recording: intent) { _ = $0.takeMove() }
            try await one.use(SealingKeyRing(current: new, earlier: [old]))
            try await one.reseal()
            #expect(try await one.retireUnusedKeys() == 1)

            func failure(_ body: () async throws -> Void) async -> MobileTokenError.Code? {
                do { try await body() } catch { return (error as? MobileTokenError)?.code }
                return nil
            }
            let outcome = ActivationStoreConformance.outcome(.accepted)
            #expect(await failure { try await left.prove() } == .storeWrongSealingKey)
            let insertion = await failure { try await left.insert(ActivationStoreConformance.record("b")) }
            #expect(insertion == .storeWrongSealingKey)
            let record = await failure { try await left.record(outcome, ofMove: 507, of: "a") }
            #expect(record == (knowsNewKey ? nil : .storeWrongSealingKey))
            // An outcome that was not written is kept, and written once the node has the ring that the others have.
            try await left.use(SealingKeyRing(current: new, earlier: [old]))
            try await left.prove()
            let receipts = try await left.receipts(of: "a", after: 0, limit: 10)
            #expect(receipts.map { $0.outcome?.result } == [.accepted])
            try await left.insert(ActivationStoreConformance.record("b"))
        }
    }

    /// A volume that was put back keeps identifier and timeline; only the mark outside of it knows.
    @Test func aRestoredVolumeIsRecognizedByTheMark() async throws {
        let server = try await PostgresTestServer.start()
        try await withNodes(server) { nodes in
            let store = nodes.node {
                $0.lifetimes = NodeLifetimes(heartbeat: .milliseconds(50), death: .milliseconds(200))
            }
            for id in ["a", "b"] { try await store.insert(ActivationStoreConformance.record(id)) }
            try await server.stop()
            try await server.backUp(to: "backup")
            try await server.start()
            for _ in 0..<5 { try await store.update("a") { _ = $0.takeMove() } }
            try await server.stop()
            try await server.restore("backup")
            try await server.start()

            let record = try #require(try await store.record(of: "a"))
            #expect(record.counterMoves == 511)  // where the mark says that it was
            #expect(record.ledger.wasPutBack)
            // Nobody knows what another node did with the other one.
            #expect(try await store.record(of: "b")?.ledger.wasPutBack == true)
            let error = await #expect(throws: MobileTokenError.self) {
                try await store.withSigningTurn(of: "b") { turn in
                    _ = try await turn.update { try $0.ledger.take(.notRequired, confirmed: nil) }
                }
            }
            #expect(error?.code == .stateRolledBack)
            #expect(try await store.record(of: "b")?.counterMoves == 506)
        }
    }
}
