import CSQLite
import Foundation
import HTTPClientTransport
import StoreTesting
import MobileTokenTesting
import SQLiteDatabase
import TestSupport
import Testing

import PowerAuth
@testable import PowerAuthClient

/// Receipts in the SQLite store: the step they share with the counter, and what the file tells.
@Suite(.timeLimit(.minutes(5)))
struct ReceiptStoreTests {
    private let folder: TemporaryFolder
    private var path: String { self.folder.file("store.sqlite") }

    init() throws { self.folder = try TemporaryFolder() }

    private func makeStore(_ configure: (inout SQLiteOptions) -> Void = { _ in })
        -> ActivationStore
    {
        var options = SQLiteOptions()
        configure(&options)
        return ActivationStore.sqlite(path: self.path, sealingKey: nil, options: options)
    }

    private func intent(_ id: String = "a", _ operation: String = "1") -> DecisionIntent {
        ActivationStoreConformance.intent(id, operation)
    }

    private func approve(
        _ id: String,
        _ activation: Activation,
        _ factor: Activation.Authentication.UnlockedFactor,
        _ demands: [LimitDemand] = []
    ) async throws {
        var intent = self.intent(activation.activationID)
        intent.demands = demands
        try await activation.decide(id, with: .possessionAndKnowledge(unlocked: factor), intent)
    }

    // MARK: No room, no decision

    @Test func whatHasNoRoomForItsReceiptIsNotDecided() async throws {
        RecordingVFS.record(self.path)
        let store = self.makeStore { $0.vfs = RecordingVFS.name }
        let (fixture, activation) = try await Fixture(store: store).activated
        let factor = try await activation.unlockKnowledge(password: Fixture.password)
        RecordingVFS.setFault(.writing(SQLITE_FULL), for: self.path)
        await expectError(.storeFull) { try await self.approve("x", activation, factor) }
        #expect(fixture.server.requestCount("/api/signed") == 0)
        #expect(try await store.receiptEntries(after: 0, limit: 1).isEmpty)
        #expect(try await store.record(of: activation.activationID)?.counterMoves == 0)

        RecordingVFS.setFault(nil, for: self.path)
        try await self.approve("y", activation, factor)
        #expect(try await store.receipts(of: nil, after: 0, limit: 9).map(\.outcome?.result) == [.accepted])
    }

    /// The counter itself would still have room: it overwrites what is there.
    @Test func aFullDatabaseTakesNeitherTheMoveNorTheIntent() async throws {
        let store = self.makeStore { $0.maximumPageCount = 24 }
        try await store.insert(ActivationStoreConformance.sparseRecord("a"))
        var taken: UInt64 = 0
        let error = await #expect(throws: MobileTokenError.self) {
            for _ in 0..<1_000 {
                taken = try await store.update("a", recording: self.intent()) { $0.takeMove() + 1 }
            }
        }
        #expect(error?.code == .storeFull)
        #expect(taken > 5)
        #expect(try await store.record(of: "a")?.counterMoves == taken)
        #expect(try await store.openDecisions(of: "a").map(\.moves) == Array(1...taken))
        #expect(try await store.update("a") { $0.takeMove() } == taken)
    }

    /// The decision is made; what became of it is written once there is room.
    @Test func anOutcomeThatHasNoRoomIsWrittenLater() async throws {
        RecordingVFS.record(self.path)
        let store = self.makeStore { $0.vfs = RecordingVFS.name }
        let (fixture, activation) = try await Fixture(store: store).activated
        let factor = try await activation.unlockKnowledge(password: Fixture.password)
        fixture.server.setFate { request in
            if request.url.hasSuffix("/api/signed") { RecordingVFS.setFault(.writing(SQLITE_FULL), for: self.path) }
            return .delivered
        }
        try await self.approve("x", activation, factor)
        // To another process it is open.
        let other = ActivationStore.sqlite(path: self.path)
        #expect(try await other.openDecisions(of: activation.activationID).map(\.moves) == [1])
        RecordingVFS.setFault(nil, for: self.path)
        #expect(try await store.receipts(of: nil, after: 0, limit: 9).map(\.outcome?.result) == [.accepted])
        #expect(try await other.openDecisions(of: activation.activationID).isEmpty)
    }

    // MARK: What it costs

    /// Begin, tag and counter, intent, commit; the outcome is one that commits by itself.
    @Test(arguments: [0, 4]) func anApprovalTakesFiveStatementsAndSixWithAPassword(limits: Int) async throws {
        let demands = (0..<limits).map { ActivationStoreConformance.demand(9, limit: "\($0)", key: "\($0)") }
        let store = self.makeStore()
        let activation = try await Fixture(store: store).activate()
        let factor = try await activation.unlockKnowledge(password: Fixture.password)
        try await self.approve("first", activation, factor, demands)
        var before = try await store.work
        try await self.approve("second", activation, factor, demands)
        var after = try await store.work
        #expect(after.statements - before.statements == 5)
        #expect(after.decryptions - before.decryptions == 1)

        before = after
        try await activation.decide("third", with: Fixture.twoFactors, self.intent(activation.activationID))
        after = try await store.work
        #expect(after.statements - before.statements == 6)
    }

    /// The token is remembered, and once a second the store is asked for all activations that are being upgraded.
    @Test func aPollTakesNoStatement() async throws {
        let store = ActivationStore(
            SQLiteDriver(StoreFiles(path: self.path), options: SQLiteOptions()),
            name: self.path,
            keys: SealingKeys(current: .file("\(self.path).key")),
            clock: ManualClock()
        )
        let activation = try await Fixture(store: store).activate()
        try await activation.poll()
        let before = try await store.work
        for _ in 0..<10 { try await activation.poll() }
        let after = try await store.work
        #expect(after.statements == before.statements)
        #expect(after.decryptions == before.decryptions)
    }

    private var synchronizationCount: Int {
        RecordingVFS.events(of: self.path).count { if case .synchronize = $0 { true } else { false } }
    }

    /// The disk is waited for once, before the signature leaves.
    @Test func anOutcomeDoesNotWaitForTheDiskAndTheNextMoveDoes() async throws {
        RecordingVFS.record(self.path)
        let store = self.makeStore { $0.vfs = RecordingVFS.name }
        try await store.insert(ActivationStoreConformance.sparseRecord("a"))
        for _ in 0..<3 {
            let before = self.synchronizationCount
            let move = try await store.update("a", recording: self.intent()) { $0.takeMove() + 1 }
            #expect(self.synchronizationCount - before == 1)
            try await store.record(ActivationStoreConformance.outcome(.accepted), ofMove: move, of: "a")
            #expect(self.synchronizationCount - before == 1)
        }
        // Another connection, as another process: it is there all the same.
        let other = ActivationStore.sqlite(path: self.path)
        #expect(try await other.receipts(of: "a", after: 0, limit: 9).map(\.outcome?.result).count == 3)
        #expect(try await other.openDecisions(of: "a").isEmpty)
    }

    @Test func aReceiptTakesLessThanTwoKilobytes() async throws {
        let store = self.makeStore()
        try await store.insert(ActivationStoreConformance.sparseRecord("a"))
        for number in 0..<1_000 {
            let intent = self.intent("a", "\(number)")
            let move = try await store.update("a", recording: intent) { $0.takeMove() + 1 }
            try await store.record(ActivationStoreConformance.outcome(.accepted), ofMove: move, of: "a")
        }
        await store.close()
        let byteCount = contents(of: self.path).count
        #expect(byteCount < 2_000_000, "\(byteCount) bytes for a thousand receipts")
    }

    // MARK: Other versions

    /// No version before was released.
    @Test(arguments: 1...9) func aStoreOfAVersionThatWasNeverReleasedIsRefusedByName(version: Int) async throws {
        let old = self.makeStore()
        try await old.insert(ActivationStoreConformance.record("a"))
        await old.close()
        try spoil("PRAGMA user_version = \(version)", at: self.path)
        let before = contents(of: self.path)
        let error = await #expect(throws: MobileTokenError.self) { try await self.makeStore().open() }
        #expect(error?.code == .storeUnreadable)
        #expect(error?.message.contains("version \(version), which was never released") == true)
        #expect(contents(of: self.path) == before)
    }

    /// A store of before there were limits gets its tables, and keeps what it has.
    @Test func aStoreWithoutLimitsIsMigrated() async throws {
        let (old, new) = (self.makeStore(), SQLiteSchema.activationStore)
        try await old.insert(ActivationStoreConformance.sparseRecord("a"))
        try await old.update("a", recording: self.intent()) { _ = $0.takeMove() }
        await old.close()
        let connection = try SQLiteConnection(path: self.path)
        for sql in [
            "DROP TRIGGER receipt_charge", "DROP TRIGGER receipt_release", "DROP TABLE charge", "DROP TABLE place",
            "ALTER TABLE receipt DROP COLUMN charges", "ALTER TABLE receipt DROP COLUMN is_released",
            "PRAGMA user_version = 10",
        ] { try connection.run(sql) }
        #expect(try new.check(connection) == 10)

        let store = self.makeStore()
        let demand = ActivationStoreConformance.demand(1)
        try await store.record(ActivationStoreConformance.outcome(.accepted), ofMove: 1, of: "a")
        #expect(try await ActivationStoreConformance.decide("a", [demand], in: store) == 2)
        #expect(try await ActivationStoreConformance.decide("a", [demand], in: store) == nil)
        let receipts = try await store.receipts(of: nil, after: 0, limit: 9)
        #expect(receipts.map(\.intent.charges.count) == [0, 1])
        #expect(receipts.map(\.outcome?.result) == [.accepted, nil])
    }

    /// As a version whose schema ended before its first step.
    @Test func anOlderProgramLeavesTheStoreAlone() async throws {
        let store = self.makeStore()
        try await store.open()
        await store.close()
        let older = SQLiteSchema(applicationID: 0x5041_5374, migrations: [[]])
        #expect(throws: SQLiteSchema.Mismatch.newer(version: 11)) {
            try older.check(SQLiteConnection(path: self.path, access: .readOnly))
        }
    }

    // MARK: What the file tells

    @Test func personalDataAreSealedAndErasedFromTheFile() async throws {
        let store = self.makeStore()
        try await store.insert(ActivationStoreConformance.sparseRecord("a"))
        for number in 0..<20 {
            let move = try await store.update("a", recording: self.intent("a", "operation-\(number)")) { record in
                record.takeMove() + 1
            }
            try await store.record(ActivationStoreConformance.outcome(.accepted), ofMove: move, of: "a")
        }
        func files() throws -> [UInt8] {
            try FileManager.default.contentsOfDirectory(atPath: self.folder.path)
                .flatMap { contents(of: self.folder.file($0)) }
        }
        for text in ["operation-", "A100CZK", "UNEXPECTED", "small payments"] {
            #expect(try files().firstRange(of: Array(text.utf8)) == nil, "\(text)")
        }
        var sealed: [[UInt8]] = []
        let reader = try SQLiteConnection(path: self.path, access: .readOnly)
        sealed = try reader.rows("SELECT personal_data FROM receipt WHERE personal_data IS NOT NULL") { $0.blob(0) }
        #expect(sealed.count == 20)
        #expect(try sealed.allSatisfy { bytes in try files().firstRange(of: bytes.prefix(16)) != nil })
        try await store.eraseReceipts(.activation("a"))
        #expect(try sealed.allSatisfy { bytes in try files().firstRange(of: bytes.prefix(16)) == nil })
    }

    @Test(arguments: [
        "UPDATE receipt SET body = (SELECT body FROM receipt WHERE number = 2) WHERE number = 1",
        "UPDATE receipt SET moves = 2 WHERE number = 1",
        "UPDATE receipt SET activation_id = 'b' WHERE number = 1",
        "UPDATE receipt SET personal_data = (SELECT personal_data FROM receipt WHERE number = 2) WHERE number = 1",
        "UPDATE receipt SET body = x'00' WHERE number = 1",
        "UPDATE receipt SET intent = 2 WHERE number = 1",
    ])
    func entriesThatWereChangedOrExchangedAreNoticed(sql: String) async throws {
        let store = self.makeStore()
        try await store.insert(ActivationStoreConformance.sparseRecord("a"))
        for _ in 0..<2 { try await store.update("a", recording: self.intent()) { _ = $0.takeMove() } }
        try spoil(sql, at: self.path)
        let entries = try await store.receiptEntries(after: 0, limit: 10)
        #expect(entries.map { $0.content == .unreadable } == [true, false])
        #expect(try await store.receipts(of: nil, after: 0, limit: 10).map(\.number) == [2])
    }

    @Test func receiptsAreSealedAnewWithTheirStore() async throws {
        let store = self.makeStore()
        try await store.insert(ActivationStoreConformance.sparseRecord("a"))
        for number in 0..<300 {
            let move = try await store.update("a", recording: self.intent("a", "\(number)")) { $0.takeMove() + 1 }
            if number.isMultiple(of: 2) {
                try await store.record(ActivationStoreConformance.outcome(.accepted), ofMove: move, of: "a")
            }
        }
        // Those that are open are unknown from then on.
        try await store.remove("a")
        let before = try await store.receiptEntries(after: 0, limit: 1_000)
        #expect(before.count == 600)
        let key = SealingKey.file(self.folder.file("next.key"))
        try await store.rotateSealingKey(to: key)
        #expect(try await store.receiptEntries(after: 0, limit: 1_000) == before)
        await store.close()
        let again = ActivationStore.sqlite(path: self.path, sealingKey: key)
        #expect(try await again.receiptEntries(after: 0, limit: 1_000) == before)
    }

    // MARK: Through the client

    @Test func aReceiptIsDatedByTheClocksOfItsClient() async throws {
        let store = ActivationStore.inMemory()
        let date = Date(timeIntervalSince1970: 1_700_000_000.125)
        let fixture = try Fixture(store: store) { $0.wallClock = { date } }
        let activation = try await fixture.activate()
        let factor = try await activation.unlockKnowledge(password: Fixture.password)
        try await self.approve("x", activation, factor)
        let receipt = try #require(try await store.receipts(of: nil, after: 0, limit: 1).first)
        #expect(receipt.intent.localDate == date)
        #expect(receipt.outcome?.localDate == date)
    }

    @Test func theClientReadsAndErasesReceipts() async throws {
        let store = self.makeStore()
        let client = try Fixture(store: store).client
        for id in ["a", "b"] { try await store.insert(ActivationStoreConformance.sparseRecord(id)) }
        for number in 0..<300 {
            let id = number.isMultiple(of: 3) ? "a" : "b"
            try await store.update(id, recording: self.intent(id, "\(number)")) { _ = $0.takeMove() }
        }
        var operations: [String?] = []
        for try await receipt in client.receipts(of: "b") {
            operations.append(receipt.intent.personalData?.operationID)
        }
        #expect(operations == (0..<300).filter { !$0.isMultiple(of: 3) }.map { "\($0)" })
        #expect(try await client.eraseReceipts(.activation("a")) == 100)
    }
}
