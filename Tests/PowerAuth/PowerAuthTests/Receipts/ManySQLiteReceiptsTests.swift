import Foundation
import StoreTesting
import SQLiteDatabase
import TestSupport
import Testing

@testable import MobileTokenReceipts
@testable import PowerAuthClient

/// Receipts by the thousand in one file: read, exported, sealed anew, erased and deleted, some at a time.
@Suite(.timeLimit(.minutes(5)))
struct ManySQLiteReceiptsTests {
    private let folder: TemporaryFolder
    private let path: String
    private let store: ActivationStore

    init() throws {
        self.folder = try TemporaryFolder()
        self.path = self.folder.file("store.sqlite")
        self.store = ActivationStore.sqlite(path: self.path)
    }

    private var archive: ReceiptArchive { ReceiptArchive(folder: self.folder.file("receipts")) }
    private static let never = Date(timeIntervalSince1970: 0)
    private static let always = Date(timeIntervalSince1970: 4_000_000_000)

    /// Makes decisions of some seconds, each with an intent and an outcome.
    private func decide(_ seconds: Range<Int>, with id: String = "a") async throws {
        for second in seconds {
            let intent = ActivationStoreConformance.intent(id, "\(second)", second: second)
            let move = try await self.store.update(id, recording: intent) { $0.takeMove() + 1 }
            let outcome = ActivationStoreConformance.outcome(.accepted, second: second)
            try await self.store.record(outcome, ofMove: move, of: id)
        }
    }

    /// Adds copies of the entry of a number, which nobody can open, since each says that it is another move.
    private func copyEntry(_ number: Int, _ count: Int) throws {
        try spoil(
            """
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
            INSERT INTO receipt (activation_id, moves, tag, date, intent, weight, body, personal_data)
            SELECT activation_id, 1000 + i, tag, date, intent, 5, body, personal_data FROM receipt, n WHERE number = \(number)
            """,
            at: self.path
        )
    }

    private func number(_ query: String) throws -> Int64 {
        let connection = try SQLiteConnection(path: self.path, access: .readOnly)
        return try connection.firstRow(query) { $0.integer(0) } ?? 0
    }

    // MARK: What does not open

    @Test func oneThatDoesNotOpenIsReportedAndPassedOver() async throws {
        try await self.store.insert(ActivationStoreConformance.sparseRecord("a"))
        try await self.decide(0..<3)
        // An intent, and the outcome of another one.
        try spoil("UPDATE receipt SET body = x'00' WHERE number IN (1, 4)", at: self.path)
        #expect(try await self.store.receipts(of: nil, after: 0, limit: 1).map(\.number) == [5])
        #expect(try await self.store.receipts(of: "a", after: 0, limit: 1).map(\.number) == [5])
        let export = try await self.archive.export(from: self.store)
        #expect(export.entryCount == 6)
        #expect(export.unreadableNumbers == [1, 4])
        let verification = try await self.archive.verify()
        #expect(verification.isIntact)
        #expect(verification.counts.unreadable == 2)
        #expect(try await self.archive.export(from: self.store).entryCount == 0)
        #expect(try await self.store.receiptFigures().unexportedCount == 0)
    }

    @Test func anotherKeyPassesOverWhatDoesNotOpen() async throws {
        try await self.store.insert(ActivationStoreConformance.sparseRecord("a"))
        try await self.decide(0..<200)
        try spoil("UPDATE receipt SET body = x'00' WHERE number IN (1, 300)", at: self.path)
        let key = SealingKey.file(self.folder.file("next.key"))
        #expect(try await self.store.rotateSealingKey(to: key) == [1, 300])
        await self.store.close()
        let again = ActivationStore.sqlite(path: self.path, sealingKey: key)
        let unreadable = try await again.receiptEntries(after: 0, limit: 1_000).filter { $0.content == .unreadable }
        #expect(unreadable.map(\.number) == [1, 300])
        #expect(try await again.receipts(of: "a", after: 0, limit: 1_000).count == 198)
        try await again.update("a") { _ = $0.takeMove() }
    }

    // MARK: Many

    @Test func aPageIsFilledFromReceiptsThatLieFarApart() async throws {
        for id in ["a", "b"] { try await self.store.insert(ActivationStoreConformance.sparseRecord(id)) }
        try await self.decide(0..<1)
        for second in 1...3 {
            try self.copyEntry(1, 3_000)
            try await self.decide(second..<(second + 1), with: "b")
        }
        let page = try await self.store.receipts(of: "b", after: 0, limit: 2)
        #expect(page.map { $0.intent.personalData?.operationID } == ["1", "2"])
        let rest = try await self.store.receipts(of: "b", after: try #require(page.last).number, limit: 2)
        #expect(rest.map { $0.intent.personalData?.operationID } == ["3"])
        #expect(try await self.store.receipts(of: "c", after: 0, limit: 2).isEmpty)
    }

    @Test(arguments: [ReceiptSelection.activation("a"), .decided(before: always)])
    func theyAreErasedSomeAtATime(selection: ReceiptSelection) async throws {
        try await self.store.insert(ActivationStoreConformance.sparseRecord("a"))
        try await self.decide(0..<1)
        try self.copyEntry(1, 5_000)
        try await self.store.update("a", recording: ActivationStoreConformance.intent("a", "open")) {
            _ = $0.takeMove()
        }
        #expect(try await self.store.eraseReceipts(selection) == 5_002)
        #expect(try await self.store.openDecisions(of: "a").isEmpty)
        #expect(try await self.store.eraseReceipts(selection) == 0)
    }

    // MARK: Deleting

    @Test func theyAreDeletedOnceTheyWereExported() async throws {
        try await self.store.insert(ActivationStoreConformance.sparseRecord("a"))
        #expect(try await self.store.deleteReceipts(exportedTo: self.archive, decidedBefore: Self.always) == 0)
        let open = ActivationStoreConformance.intent("a", "open")
        let move = try await self.store.update("a", recording: open) { $0.takeMove() + 1 }
        try await self.decide(0..<4)
        try self.copyEntry(2, 5_000)  // of an intent that goes in an earlier step
        try await self.decide(10..<12)
        try await self.archive.export(from: self.store)
        #expect(try await self.store.deleteReceipts(exportedTo: self.archive, decidedBefore: Self.never) == 0)

        // The receipts not exported yet, the open one, the recent ones, and the last one that was exported with its intent.
        let unanswered = ActivationStoreConformance.outcome(.unanswered(code: "x"))
        try await self.store.record(unanswered, ofMove: move, of: "a")
        let old = try #require(try await self.store.receipts(of: "a", after: 4, limit: 9).last).intent.localDate
        #expect(try await self.store.deleteReceipts(exportedTo: self.archive, decidedBefore: old) > 0)
        let rest = try await self.store.receiptEntries(after: 0, limit: 9)
        #expect(rest.count == 4)
        #expect(try await self.store.openDecisions(of: "a").map(\.moves) == [move])

        try await self.store.record(ActivationStoreConformance.outcome(.accepted), ofMove: move, of: "a")
        #expect(try await self.archive.export(from: self.store).entryCount == 2)
        #expect(try await self.archive.verify().isIntact)
        // The first intent with its three outcomes but the last, which is the one that was exported last.
        #expect(try await self.store.deleteReceipts(exportedTo: self.archive, decidedBefore: Self.always) == 2)
        #expect(try await self.archive.export(from: self.store).entryCount == 0)
    }

    @Test func aNumberIsNeverGivenTwice() async throws {
        try await self.store.insert(ActivationStoreConformance.sparseRecord("a"))
        try await self.decide(0..<2)
        try spoil("DELETE FROM receipt", at: self.path)
        try await self.decide(2..<3)
        #expect(try await self.store.receiptEntries(after: 0, limit: 9).map(\.number) == [5, 6])
    }

    @Test func filesThatWereChangedDeleteNothing() async throws {
        try await self.store.insert(ActivationStoreConformance.sparseRecord("a"))
        try await self.decide(0..<3)
        try await self.archive.export(from: self.store)
        let file = try #require(try self.archive.files().first)
        let text = try String(contentsOfFile: file, encoding: .utf8)
        try text.replacing("reject", with: "approve", maxReplacements: 1)
            .write(toFile: file, atomically: true, encoding: .utf8)
        await #expect(throws: ReceiptFault.self) {
            try await self.store.deleteReceipts(exportedTo: self.archive, decidedBefore: Self.always)
        }
        #expect(try self.number("SELECT count(*) FROM receipt") == 6)
    }

    @Test func theRoomOfDeletedReceiptsIsGivenBack() async throws {
        try await self.store.insert(ActivationStoreConformance.sparseRecord("a"))
        try await self.decide(0..<1)
        try self.copyEntry(1, 10_000)
        try await self.decide(1..<2)
        try await self.archive.export(from: self.store)
        let before = try await self.store.receiptFigures().byteCount
        #expect(try await self.store.deleteReceipts(exportedTo: self.archive, decidedBefore: Self.always) == 10_002)
        #expect(try await self.store.receiptFigures().byteCount < before / 20)
        #expect(try self.number("SELECT count(*) FROM pragma_freelist_count() WHERE freelist_count > 0") == 0)
        #expect(contents(of: self.path).count < before / 20)
    }

    // MARK: What an operator watches

    // MARK: Plans

    /// Statements that find entries by their number, or by the index of open ones, and read no others.
    @Test func noStatementReadsAllReceipts() async throws {
        try await self.store.insert(ActivationStoreConformance.sparseRecord("a"))
        try await self.decide(0..<2)
        _ = try await self.store.receipts(of: nil, after: 0, limit: 9)
        _ = try await self.store.receipts(of: "a", after: 0, limit: 9)
        _ = try await self.store.openDecisions(of: "a")
        try await self.archive.export(from: self.store)
        _ = try await self.store.eraseReceipts(.activation("a"))
        _ = try await self.store.rotateSealingKey(to: SealingKey.file(self.folder.file("next.key")))
        _ = try await self.store.deleteReceipts(exportedTo: self.archive, decidedBefore: Self.always)
        _ = try await self.store.receiptFigures()
        let plans = try await self.store.sqlite.plans.filter { sql, _ in
            sql.contains("receipt") && !sql.hasPrefix("CREATE")
        }
        #expect(plans.count >= 10)
        for (sql, plan) in plans {
            // The index holds the few whose outcome another one may replace.
            let scans = plan.filter { $0.hasPrefix("SCAN receipt") || $0.hasPrefix("SCAN i") }
            #expect(scans.allSatisfy { $0.hasSuffix("USING INDEX receipt_intent") }, "\(sql): \(plan)")
        }
    }
}
