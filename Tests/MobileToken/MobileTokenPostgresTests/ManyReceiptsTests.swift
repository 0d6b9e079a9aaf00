import Foundation
import StoreTesting
import PostgresDatabase
import PostgresTestServer
import TestSupport
import Testing
import MobileTokenReceipts

@testable import MobileTokenPostgres

/// Receipts by the thousand, and a server that works on no statement for longer than a second.
@Suite(.timeLimit(.minutes(5)), .ifPostgresIsInstalled)
struct ManyReceiptsTests {
    private static let count: Int64 = 20_000

    private static func quick(_ configuration: inout PostgresConfiguration) {
        configuration.statementTimeout = .seconds(1)
    }

    /// Receipts of a decision each, which nobody could open: an intent, and its outcome behind it.
    private static func insertDecided(_ count: Int64, _ connection: PostgresConnection) throws {
        for start in stride(from: 1, to: count, by: 2_000) {
            try connection.run(
                """
                WITH intent AS (
                    INSERT INTO receipt (activation_id, moves, tag, date, weight, sealing_key, body, personal_data)
                    SELECT 'a', number, number, number, 5, 1, '\\x00', '\\x00'
                    FROM generate_series($1::int8, $1 + 1999, 2) AS number RETURNING id, moves, date
                ), outcome AS (
                    INSERT INTO receipt (activation_id, moves, tag, date, intent, weight, sealing_key, body)
                    SELECT 'a', moves, moves, date, id, 5, 1, '\\x00' FROM intent RETURNING id, intent
                )
                SELECT count(*) FROM outcome
                """,
                [.integer(start)]
            )
        }
        try connection.run("UPDATE receipt SET outcome = o.id FROM receipt AS o WHERE o.intent = receipt.id")
    }

    private static func number(_ query: String, _ connection: PostgresConnection) throws -> Int64 {
        try connection.run(query, [], .none)[0].integer(0)
    }

    @Test func theyAreNumberedSomeAtATimeAndRead() async throws {
        try await withNodes { nodes in
            let (one, other) = (nodes.node("one", Self.quick), nodes.node("other", Self.quick))
            for store in [one, other] { try await store.open() }
            let database = try nodes.connect()
            try Self.insertDecided(Self.count, database)
            // A reader of one page numbers little more than that page.
            #expect(try await one.receiptEntries(after: 0, limit: 10).map(\.number) == Array(1...10))
            #expect(try Self.number("SELECT max(number) FROM receipt", database) == StoredReceipts.batch)
            async let entries = other.receiptEntries(after: 19_990, limit: 1_000)
            async let more = one.receiptEntries(after: 19_990, limit: 1_000)
            #expect(try await entries.map(\.number) == Array(19_991...20_000))
            #expect(try await more.map(\.number) == Array(19_991...20_000))
            #expect(
                try Self.number("SELECT count(*) FROM receipt WHERE intent > id OR number IS NULL", database) == 0
            )
            let disorder = "SELECT count(*) FROM receipt o JOIN receipt i ON i.id = o.intent WHERE o.number < i.number"
            #expect(try Self.number(disorder, database) == 0)
        }
    }

    /// Receipts that nobody has read for hours: no step numbers more of them than any other does.
    @Test func aHundredThousandThatNobodyReadAreNumbered() async throws {
        try await withNodes { nodes in
            let store = nodes.node("one")
            try await store.open()
            let database = try nodes.connect()
            let count: Int64 = 100_000
            // Few at a time, for a server that other tests keep busy.
            for start in stride(from: 1, to: count, by: 5_000) {
                try database.run(
                    """
                    INSERT INTO receipt (activation_id, moves, tag, date, weight, sealing_key, body)
                    SELECT 'a', number, number, number, 5, 1, '\\x00' FROM generate_series($1::int8, $1 + 4999) AS number
                    """,
                    [.integer(start)]
                )
            }
            #expect(try await store.receiptFigures().unexportedCount == 100_000)
            let end = try await store.receiptEntries(after: UInt64(count) - 10, limit: 100)
            #expect(end.map(\.number) == Array(99_991...100_000))
            #expect(try await store.receiptFigures().unexportedCount == 100_000)
            let largest = "SELECT max(count) FROM (SELECT count(*) FROM receipt GROUP BY xmin::text) AS steps"
            #expect(try Self.number(largest, database) == StoredReceipts.batch)
        }
    }

    @Test func noStatementReadsAllReceipts() async throws {
        try await withNodes { nodes in
            let store = nodes.node("one")
            try await store.insert(ActivationStoreConformance.record("a"))
            let database = try nodes.connect()
            try Self.insertDecided(4_000, database)
            _ = try await store.receiptEntries(after: 3_990, limit: 100)
            try database.run("UPDATE receipt SET activation_id = 'a' || moves % 1000")
            try database.run("ANALYZE receipt")
            // Whatever else is possible comes first, also where there are few.
            try database.run("SET enable_seqscan = off")
            func plan(_ statement: PostgresStatement) throws -> String {
                try database.run("EXPLAIN " + statement.sql, statement.values, .none)
                    .map { try $0.text(0) }.joined(separator: "\n")
            }
            let sealed = SealedReceipt(activationID: "a1", moves: 1, date: Date(), body: [0], personalData: nil)
            func outcome(tag: WriteTag?) -> SealedOutcome {
                SealedOutcome(sealed: sealed, weight: 5, key: 1, tag: tag, intent: nil)
            }
            let statements: [(PostgresStatement, indexes: [String])] = [
                (StoredReceipts.entries(after: 9, limit: 9), ["receipt_number_key"]),
                (StoredReceipts.receipts(of: nil, after: 9, limit: 9), ["receipt_number_key"]),
                (StoredReceipts.receipts(of: "a1", after: 9, limit: 9), ["receipt_of_activation"]),
                (StoredReceipts.open(of: "a1"), ["receipt_open"]),
                (StoredReceipts.open(of: nil), ["receipt_open"]),
                (StoredReceipts.insertion(outcome(tag: nil), changesCharges: false), ["receipt_open"]),
                (StoredReceipts.insertion(outcome(tag: WriteTag(rawValue: 1)), changesCharges: true), ["receipt_open"]),
                (
                    StoredReceipts.insertion(intent: sealed, tag: WriteTag(rawValue: 1), key: 1),
                    ["receipt_of_activation"]
                ),
                (StoredReceipts.numbering[1], ["receipt_number_key", "receipt_unnumbered"]),
                (StoredReceipts.sealed(with: 1, after: 9, limit: 9), []),
                (StoredReceipts.resealing([(1, sealed)], with: 1), ["receipt_pkey"]),
                (StoredReceipts.erasure(of: .decided(before: Date())), ["receipt_personal"]),
                (StoredReceipts.erasure(of: .activation("a1")), ["receipt_of_activation"]),
                (StoredReceipts.openIntents(in: .activation("a1"), after: 9), ["receipt_open"]),
                (StoredReceipts.openIntents(in: .decided(before: Date()), after: 9), []),
                (
                    StoredReceipts.deletion(after: 9, before: 4_000, decidedBefore: 9),
                    ["receipt_number_key", "receipt_of_intent"]
                ),
                (StoredReceipts.figures, ["receipt_number_key", "receipt_unnumbered"]),
            ]
            for (statement, indexes) in statements {
                let plan = try plan(statement)
                #expect(!plan.contains("Seq Scan on receipt"), "\(statement.sql): \(plan)")
                for index in indexes { #expect(plan.contains(index), "\(index): \(plan)") }
            }
        }
    }

    /// A table whose receipts come and go does not grow.
    @Test func theRoomOfDeletedReceiptsIsUsedAgain() async throws {
        let server = try await PostgresTestServer.start(.init(settings: ["autovacuum = off"]))
        try await withNodes(server) { nodes in
            // Its speed on a machine that does other things as well is not asked for.
            let store = nodes.node("one") { $0.statementTimeout = .seconds(60) }
            try await store.open()
            let database = try nodes.connect()
            let archive = ReceiptArchive(folder: nodes.folder.path + "/archive")
            func byteCount() throws -> Int64 {
                try Self.number("SELECT pg_relation_size('receipt'::regclass)", database)
            }
            try Self.insertDecided(2_000, database)
            try await archive.export(from: store)
            try database.runAlone("VACUUM (ANALYZE) receipt")
            let before = try byteCount()
            for _ in 0..<3 {
                let always = Date(timeIntervalSince1970: 4_000_000_000)
                #expect(try await store.deleteReceipts(exportedTo: archive, decidedBefore: always) > 1_900)
                try database.runAlone("VACUUM (ANALYZE) receipt")
                try Self.insertDecided(2_000, database)
                try await archive.export(from: store)
                #expect(try byteCount() < before * 3 / 2)
            }
        }
    }

    @Test(arguments: [ReceiptSelection.activation("a"), .decided(before: Date(timeIntervalSince1970: 10))])
    func theyAreErasedSomeAtATime(selection: ReceiptSelection) async throws {
        try await withNodes { nodes in
            let store = nodes.node("one", Self.quick)
            try await store.insert(ActivationStoreConformance.record("a"))
            let database = try nodes.connect()
            try Self.insertDecided(Self.count, database)
            try await store.update("a", recording: ActivationStoreConformance.intent("a", "1")) { _ = $0.takeMove() }
            let isOfActivation = selection.activationID != nil
            // By age those of the first ten seconds: every other millisecond.
            #expect(try await store.eraseReceipts(selection) == (isOfActivation ? 10_001 : 5_000))
            #expect(try await store.openDecisions(of: "a").count == (isOfActivation ? 0 : 1))
            #expect(try await store.eraseReceipts(selection) == 0)
            let rest = "SELECT count(*) FROM receipt WHERE personal_data IS NOT NULL"
            #expect(try Self.number(rest, database) == (isOfActivation ? 0 : 5_001))
        }
    }

    @Test func oneThatDoesNotOpenIsReportedAndPassedOver() async throws {
        try await withNodes { nodes in
            let store = nodes.node("one", Self.quick)
            try await store.insert(ActivationStoreConformance.record("a"))
            try await store.decide(1...3)
            let archive = ReceiptArchive(folder: nodes.folder.path + "/archive")
            #expect(try await store.receipts(of: nil, after: 0, limit: 10).count == 3)
            // An intent, and the outcome of another one.
            try nodes.connect().run("UPDATE receipt SET body = '\\x00' WHERE number IN (1, 4)")
            let receipts = try await store.receipts(of: nil, after: 0, limit: 1)
            #expect(receipts.map(\.intent.personalData?.operationID) == ["3"])
            let export = try await archive.export(from: store)
            #expect(export.entryCount == 6)
            #expect(export.unreadableNumbers == [1, 4])
            let verification = try await archive.verify()
            #expect(verification.isIntact)
            #expect(verification.counts.unreadable == 2)
            #expect(verification.counts.outcomes == 2)
            #expect(try await archive.export(from: store).entryCount == 0)
        }
    }

    @Test func anotherKeyPassesOverWhatDoesNotOpen() async throws {
        try await withNodes { nodes in
            let (old, new) = (PostgresStoreFixture.key(1), PostgresStoreFixture.key(2))
            let store = nodes.node("one") {
                Self.quick(&$0)
                $0.sealingKeys = SealingKeyRing(current: old)
            }
            try await store.insert(ActivationStoreConformance.record("a"))
            for number in 1...250 {
                let intent = ActivationStoreConformance.intent("a", "\(number)")
                _ = try await store.update("a", recording: intent) { $0.takeMove() }
            }
            let database = try nodes.connect()
            try database.run("UPDATE receipt SET body = '\\x00' WHERE id = (SELECT min(id) FROM receipt)")
            try await store.use(SealingKeyRing(current: new, earlier: [old]))
            let error = await #expect(throws: MobileTokenError.self) { try await store.reseal() }
            #expect(error?.code == .storeCorrupted)
            let rest = "SELECT count(*) FROM receipt WHERE sealing_key = (SELECT min(number) FROM sealing_key)"
            #expect(try Self.number(rest, database) == 1)
            #expect(try await store.retireUnusedKeys() == 0)
            try database.run("DELETE FROM receipt WHERE id = (SELECT min(id) FROM receipt)")
            #expect(try await store.retireUnusedKeys() == 1)
            #expect(try await store.receipts(of: "a", after: 0, limit: 1_000).count == 249)
        }
    }

    @Test func theyAreDeletedOnceTheyWereExported() async throws {
        try await withNodes { nodes in
            let store = nodes.node("one", Self.quick)
            try await store.insert(ActivationStoreConformance.record("a"))
            let database = try nodes.connect()
            let archive = ReceiptArchive(folder: nodes.folder.path + "/archive")
            let never = Date(timeIntervalSince1970: 0)
            let always = Date(timeIntervalSince1970: 4_000_000_000)
            #expect(try await store.deleteReceipts(exportedTo: archive, decidedBefore: always) == 0)

            let open = ActivationStoreConformance.intent("a", "open")
            let move = try await store.update("a", recording: open) { $0.takeMove() + 1 }
            try Self.insertDecided(4_000, database)
            try await archive.export(from: store)
            #expect(try await store.deleteReceipts(exportedTo: archive, decidedBefore: never) == 0)
            // The receipts not exported yet, the open one, and the last one that was exported with its intent.
            try await store.record(ActivationStoreConformance.outcome(.unanswered(code: "x")), ofMove: move, of: "a")
            let old = Date(timeIntervalSince1970: 2)
            #expect(try await store.deleteReceipts(exportedTo: archive, decidedBefore: old) == 2_000)
            #expect(try await store.deleteReceipts(exportedTo: archive, decidedBefore: always) == 1_998)
            #expect(try Self.number("SELECT count(*) FROM receipt", database) == 4)
            #expect(try await store.openDecisions(of: "a").map(\.moves) == [move])

            try await store.record(ActivationStoreConformance.outcome(.accepted), ofMove: move, of: "a")
            #expect(try await archive.export(from: store).entryCount == 2)
            #expect(try await archive.verify().isIntact)
            #expect(try await store.deleteReceipts(exportedTo: archive, decidedBefore: always) == 2)
            #expect(try await archive.export(from: store).entryCount == 0)
        }
    }

    @Test func filesThatWereChangedDeleteNothing() async throws {
        try await withNodes { nodes in
            let store = nodes.node("one", Self.quick)
            try await store.insert(ActivationStoreConformance.record("a"))
            try await store.decide(1...3)
            let archive = ReceiptArchive(folder: nodes.folder.path + "/archive")
            try await archive.export(from: store)
            let file = try #require(try archive.files().first)
            let text = try String(contentsOfFile: file, encoding: .utf8)
            try text.replacing("reject", with: "approve", maxReplacements: 1).write(
                toFile: file,
                atomically: true,
                encoding: .utf8
            )
            await #expect(throws: ReceiptFault.self) {
                try await store.deleteReceipts(exportedTo: archive, decidedBefore: .distantFuture)
            }
            #expect(try Self.number("SELECT count(*) FROM receipt", nodes.connect()) == 6)
        }
    }
}
