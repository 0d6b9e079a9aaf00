import ApprovalTesting
import Foundation
import MobileTokenTesting
import TestSupport
import Testing

@testable import MobileTokenApprovals

private let suffixes = ["", "-wal", "-shm", "-lease", ".key"]

/// Copies the files of a ledger that nobody has open.
private func copy(_ path: String, to target: String, _ suffixes: [String] = suffixes) throws {
    for suffix in suffixes where FileManager.default.fileExists(atPath: path + suffix) {
        try? FileManager.default.removeItem(atPath: target + suffix)
        try FileManager.default.copyItem(atPath: path + suffix, toPath: target + suffix)
    }
}

@Suite(.timeLimit(.minutes(5))) struct LedgerTests {
    private let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    private static func code(_ body: () async throws -> Void) async -> ApprovalError.Code? {
        do { try await body() } catch { return (error as? ApprovalError)?.code }
        return nil
    }

    // MARK: Rule 8

    @Test func rule8NothingOfAQuestionIsReadableAndTheStateIsSealed() async throws {
        let bench = try await Bench(ledger: .sqlite(path: self.folder.file("ledger")))
        var request = Bench.request("a-name-to-be-found")
        request.parameters["service"] = "a-service-to-be-found"
        try await bench.perform(request)
        await bench.desk.core.ledger.close()
        for suffix in ["", "-wal"] {
            guard let bytes = FileManager.default.contents(atPath: self.folder.file("ledger\(suffix)")) else {
                continue
            }
            for secret in ["a-name-to-be-found", "a-service-to-be-found", "alice"] {
                #expect(bytes.range(of: Data(secret.utf8)) == nil)
            }
        }
    }

    @Test func rule8ALedgerThatWasPutBackIsRefusedAndItsOpenQuestionsAreUnknown() async throws {
        let path = self.folder.file("ledger")
        let bench = try await Bench(ledger: .sqlite(path: path))
        try await bench.decided()
        #expect(try await bench.state() == .approved)
        await bench.desk.core.ledger.close()
        try copy(path, to: self.folder.file("backup"))

        let second = try await Bench(ledger: .sqlite(path: path), server: bench.server)
        try await second.perform()
        await second.desk.core.ledger.close()

        // The database alone is put back, over the file that is there.
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        let bytes = try #require(FileManager.default.contents(atPath: self.folder.file("backup")))
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: bytes)
        try handle.close()

        let restored = ApprovalLedger.sqlite(path: path)
        #expect(await Self.code { _ = try await Bench.desk(restored, bench.server) } == .ledgerWentBack)
        try await restored.adopt(audience: "test")
        let third = try await Bench.desk(restored, bench.server)
        #expect(try await third.tickets(id: "deploy-1").map(\.state) == [.unknown])
        #expect(try await third.tickets(in: [.unknown]).map(\.id) == ["deploy-1"])
        #expect(third.health.unknown == 1)
        let error = await #expect(throws: ApprovalError.self) { try await bench.perform(at: third) }
        #expect(error?.performance == .unknown)
        #expect(bench.runs.count + second.runs.count == 1)
        // Somebody finds out, and says so.
        try await third.settle(id: "deploy-1", as: .wasDone, by: "carol")
        let settled = try #require(try await third.tickets(id: "deploy-1").first)
        #expect(settled.settlement?.outcome == .wasDone)
        #expect(settled.settlement?.person == "carol")
        #expect(
            await Self.code { try await third.settle(id: "deploy-1", as: .wasNotDone, by: "eve") }
                == .invalidRequest
        )
    }

    @Test func rule8ACopyOfTheFolderIsRefused() async throws {
        let path = self.folder.file("ledger")
        let bench = try await Bench(ledger: .sqlite(path: path))
        try await bench.decided()
        await bench.desk.core.ledger.close()
        try copy(path, to: self.folder.file("copy"))
        #expect(
            await Self.code { _ = try await Bench.desk(.sqlite(path: self.folder.file("copy")), bench.server) }
                == .ledgerWentBack
        )
        // The original goes on.
        let original = try await Bench.desk(.sqlite(path: path), bench.server)
        try await bench.perform(at: original)
    }

    @Test(arguments: [["-lease"], ["", "-wal", "-shm"]]) func rule8AFileThatWasTakenAwayIsMissed(_ missing: [String])
        async throws
    {
        let path = self.folder.file("ledger")
        let bench = try await Bench(ledger: .sqlite(path: path))
        _ = try await bench.desk.ask(Bench.request())
        await bench.desk.core.ledger.close()
        for suffix in missing { try? FileManager.default.removeItem(atPath: path + suffix) }
        #expect(await Self.code { _ = try await Bench.desk(.sqlite(path: path), bench.server) } == .ledgerWentBack)
    }

    @Test func rule8ALedgerThatIsExchangedUnderARunningDeskIsRefused() async throws {
        let path = self.folder.file("ledger")
        let bench = try await Bench(ledger: .sqlite(path: path))
        _ = try await bench.desk.ask(Bench.request())
        try FileManager.default.moveItem(atPath: path, toPath: self.folder.file("moved"))
        try FileManager.default.copyItem(atPath: self.folder.file("moved"), toPath: path)
        #expect(await bench.code() == .ledgerWentBack)
        #expect(bench.runs.count == 0)
    }

    @Test func rule8ARowWhoseStateWasEditedDoesNotOpen() async throws {
        let memory = MemoryLedger()
        let bench = try await Bench(ledger: .testing(memory))
        bench.server.with { $0.script["alice"] = .init(status: "REJECTED") }
        #expect(await bench.code() == .rejected)
        let key = LedgerKey(audience: "test", id: "deploy-1")
        let row = try #require(await memory.load(key))
        let edited = LedgerChange(
            key: key,
            tag: row.tag,
            state: try #require(row.state),
            incarnation: row.incarnation,
            newTag: 1,
            newState: .approved,
            needsAttention: true,
            content: row.content
        )
        #expect(await memory.swap(edited) == .written)
        #expect(await bench.code() == .ledgerFailed)
        #expect(bench.runs.count == 0)
    }

    /// Both ledgers may be sealed with one key, as those of one database are.
    @Test func rule6ARowOfAnotherAudienceOpensNothing() async throws {
        let (staging, production) = (MemoryLedger(), MemoryLedger())
        let bench = try await Bench(ledger: .testing(staging))
        try await bench.decided()
        let ledger = ApprovalLedger(driver: production, sealing: bench.ledger.sealing)
        let desk = try await Bench.desk(ledger, bench.server, audience: "production")
        var row = try #require(await staging.load(LedgerKey(audience: "test", id: "deploy-1")))
        row.key = LedgerKey(audience: "production", id: "deploy-1")
        await production.put(row, for: row.key)
        #expect(await bench.code(at: desk) == .ledgerFailed)
        #expect(bench.runs.count == 0)
    }

    /// Whoever writes the name of the ledger's life beside an earlier row makes it none of this life.
    @Test func rule8ARowOfAnotherLifeStaysOne() async throws {
        let memory = MemoryLedger()
        let bench = try await Bench(ledger: .testing(memory))
        try await bench.decided()
        await memory.adopt(audience: [])
        let facts = try await memory.open(audience: Ledger.digest(ofAudience: "test"))
        let key = LedgerKey(audience: "test", id: "deploy-1")
        var row = try #require(await memory.load(key))
        row.incarnation = facts.incarnation
        await memory.put(row, for: key)
        let desk = try await Bench.desk(bench.ledger, bench.server)
        #expect(await bench.code(at: desk) == .ledgerFailed)
        #expect(bench.runs.count == 0)
    }

    /// A row that is damaged, missing or an earlier one is told of, nothing is done with it, and the others are looked after.
    @Test(arguments: ["content", "state", "earlier", "gone"]) func rule8ADamagedRowKeepsNobodyFromTheOthers(
        _ damage: String
    ) async throws {
        let memory = MemoryLedger()
        let bench = try await Bench(ledger: .testing(memory))
        let running = Task { try await bench.desk.run() }
        let events = bench.desk.events()
        bench.server.with { $0.script["alice"]?.after = 100_000 }
        let damaged = try await bench.desk.ask(Bench.request())
        let key = LedgerKey(audience: "test", id: "deploy-1")
        let earlier = try #require(await memory.load(key))
        bench.clock.advance(by: .seconds(10))
        try await bench.desk.core.step(key)
        var row = try #require(await memory.load(key))
        switch damage {
        case "content": row.content[20] ^= 1
        case "state": row.state = nil
        case "earlier": row = earlier
        default: break
        }
        await memory.put(damage == "gone" ? nil : row, for: key)
        let fine = try await bench.desk.ask(Bench.request("deploy-2", from: .user("bob")))
        async let decided = fine.decision()
        // As long as the poller takes to search the ledger anew.
        for _ in 0..<14 {
            await bench.clock.waitForSleepers(1)
            bench.clock.advance(by: .seconds(5))
        }
        let decision = try await decided
        #expect(decision.approvals != nil, "\(decision)")
        var message: String?
        for await event in events where event.kind == .questionUnreadable {
            message = event.message
            break
        }
        #expect(message?.contains(key.description) == true)
        #expect(bench.desk.health.unreadable == 1)
        #expect(try await bench.desk.tickets().map(\.id) == ["deploy-2"])
        await #expect(throws: ApprovalError.self) { try await damaged.decision() }
        // The poller was at work until now.
        await #expect(throws: CancellationError.self) { try await running.stop() }
        if damage != "gone" { #expect(await bench.code() == .ledgerFailed) }
        #expect(bench.runs.count == 0)
    }

    /// An action that was done once is not done again because the earlier row was put back.
    @Test func rule8ARowOfBeforeThatIsPutBackIsNoticedWhileTheProcessLives() async throws {
        let memory = MemoryLedger()
        let bench = try await Bench(ledger: .testing(memory))
        try await bench.decided()
        let key = LedgerKey(audience: "test", id: "deploy-1")
        let approved = try #require(await memory.load(key))
        try await bench.perform()
        await memory.put(approved, for: key)
        #expect(await bench.code() == .ledgerFailed)
        #expect(bench.runs.count == 1)
    }

    /// Number 51, spot 6: nothing is committed before the lock, and waiting for it blocks nothing.
    @Test func aWriteThatWaitsForAnotherProcessCanBeCanceled() async throws {
        let driver = SQLiteLedger(StoreFiles(path: self.folder.file("ledger")))
        let facts = try await driver.open(audience: [1])
        let row = LedgerRow(
            key: LedgerKey(audience: "test", id: "deploy-1"),
            state: .open,
            incarnation: facts.incarnation,
            tag: 1,
            needsAttention: true,
            asked: 0,
            content: []
        )
        let other = try LockFile(creating: self.folder.file("ledger-lease"))
        #expect(try other.tryLock(SQLiteLedger.markLock))
        let asking = LedgerAsking(people: [], maximumOpen: 1, interval: 0)
        let write = Task { try await driver.insert(row, asking: asking) }
        #expect(try await driver.load(row.key) == nil)
        await #expect(throws: CancellationError.self) { try await write.stop() }
        other.unlock(SQLiteLedger.markLock)
        #expect(try await driver.load(row.key) == nil)
        #expect(try await driver.insert(row, asking: asking) == .written)
    }

    // MARK: Requirements of every ledger

    @Test(arguments: LedgerConformance.allCases) func aLedgerInMemoryConforms(to requirement: LedgerConformance)
        async throws
    {
        let ledger = ApprovalLedger.inMemory()
        try await requirement.check { ledger }
    }

    @Test(arguments: LedgerConformance.allCases) func aLedgerInAFileConforms(to requirement: LedgerConformance)
        async throws
    {
        try await requirement.check { ApprovalLedger.sqlite(path: self.folder.file("ledger")) }
    }
}
