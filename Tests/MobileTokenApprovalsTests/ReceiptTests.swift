import ApprovalTesting
import Coordination
import Foundation
import MobileTokenTesting
import PowerAuth
import TestSupport
import Testing

@testable import MobileTokenApprovals
@testable import MobileTokenReceipts

/// The receipts of a desk: one for every question, answered or not.
@Suite(.timeLimit(.minutes(1))) struct ReceiptTests {
    private static func states(_ archive: ReceiptArchive) async throws -> [String] {
        try await archive.questionReceipts().map(\.facts.state)
    }

    @Test func everyEndHasAReceipt() async throws {
        let folder = try TemporaryFolder()
        let archive = ReceiptArchive(folder: folder.file("questions"))
        let bench = try await Bench { $0.limits.questionInterval = .zero }
        try await bench.perform(Bench.request("done"))
        await #expect(throws: CancellationError.self) {
            try await bench.passing {
                try await bench.desk.perform(Bench.request("threw")) { _ in throw CancellationError() }
            }
        }
        bench.server.with { $0.script["alice"] = .init(status: "REJECTED", reason: "no") }
        _ = await bench.code(of: Bench.request("rejected"))
        bench.server.with { $0.script["alice"] = nil }
        _ = await bench.code(of: Bench.request("expired"))
        try await bench.desk.ask(Bench.request("withdrawn")).withdraw(reason: "not needed")
        bench.server.with { $0.forms["deploy"] = "A9*R${binding}" }
        _ = await bench.code(of: Bench.request("mismatched"))
        bench.server.with { $0.forms = [:] }
        // One that is open has none.
        _ = try await bench.desk.ask(Bench.request("open"))

        #expect(try await bench.desk.exportReceipts(to: archive).entryCount == 6)
        #expect(
            try await Self.states(archive).sorted()
                == ["done", "expired", "mismatched", "rejected", "threw", "withdrawn"]
        )
        #expect(try await bench.desk.exportReceipts(to: archive).entryCount == 0)
        try await bench.desk.tickets(id: "open").first?.withdraw(reason: "not needed")
        #expect(try await bench.desk.exportReceipts(to: archive).entryCount == 1)
        let verification = try await archive.verify()
        #expect(verification.isIntact)
        #expect(verification.counts.questions == 7)
        let rejected = try #require(try await archive.questionReceipts().first { $0.facts.state == "rejected" })
        #expect(rejected.facts.code == "rejected")
        let answer = try #require(rejected.personal?["answers"]?.array?.first)
        #expect(answer["operation"]?.string == "op-3")
        #expect(answer["reason"]?.string == "no")
        #expect(answer["data"]?.string?.hasPrefix("A9*Tbilling*N4.2.1*R") == true)
        let question = try #require(rejected.personal?["questions"]?.array?.first?.string)
        #expect(question.contains(#""id":"rejected""#))
    }

    /// With which the caller was content.
    @Test func dataThatNobodyHasSeenAreSaidToBeSo() async throws {
        let folder = try TemporaryFolder()
        let archive = ReceiptArchive(folder: folder.file("questions"))
        let bench = try await Bench(isDocumentedOnly: true)
        var request = Bench.request()
        request.accepting = .unverifiedData
        try await bench.perform(request)
        try await bench.desk.exportReceipts(to: archive)
        let answer = try #require(try await archive.questionReceipts().first?.personal?["answers"]?.array?.first)
        #expect(answer["evidence"]?.string == "unverifiedData" && answer["data"] == nil)
    }

    @Test func aSettledQuestionHasASecondReceipt() async throws {
        let folder = try TemporaryFolder()
        let archive = ReceiptArchive(folder: folder.file("questions"))
        let driver = StoppingLedger(MemoryLedger())
        let bench = try await Bench(ledger: .testing(driver))
        driver.set(.instead(.done))
        try await bench.perform()
        driver.set(nil)
        try await bench.desk.exportReceipts(to: archive)
        #expect(try await Self.states(archive) == ["unknown"])
        try await bench.desk.settle(id: "deploy-1", as: .wasDone, by: "carol")
        #expect(try await bench.desk.exportReceipts(to: archive).entryCount == 1)
        let receipts = try await archive.questionReceipts()
        #expect(receipts.map(\.facts.state) == ["unknown", "settled"])
        #expect(receipts.map(\.completes) == [nil, 1])
        #expect(receipts.last?.personal?["settled"]?["by"]?.string == "carol")
        let verification = try await archive.verify()
        #expect(verification.isIntact)
        #expect(verification.counts.questions == 1)
    }

    @Test(arguments: [#""state":"rejected""#, #""user":"alice""#, "A9*Tbilling", #"\"id\":\"deploy-1\""#])
    func whatIsChangedIsFound(_ words: String) async throws {
        let folder = try TemporaryFolder()
        let archive = ReceiptArchive(folder: folder.file("questions"))
        let bench = try await Bench { $0.limits.questionInterval = .zero }
        bench.server.with { $0.script["alice"] = .init(status: "REJECTED") }
        _ = await bench.code()
        _ = await bench.code(of: Bench.request("deploy-2"))
        try await bench.desk.exportReceipts(to: archive)
        let path = try #require(archive.files().first)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.contains(words))
        let range = try #require(text.range(of: words))
        var changed = text
        let letter = changed.index(before: range.upperBound)
        let before = changed.index(before: letter)
        changed.replaceSubrange(before..<letter, with: changed[before] == "x" ? "y" : "x")
        try Data(changed.utf8).write(to: URL(filePath: path))
        #expect(try await archive.verify().fault != nil)
        await #expect(throws: (any Error).self) { try await bench.desk.exportReceipts(to: archive) }
    }

    @Test func personalDataAreErasedAndTheChainHolds() async throws {
        let folder = try TemporaryFolder()
        let archive = ReceiptArchive(folder: folder.file("questions"))
        let bench = try await Bench()
        try await bench.perform()
        try await bench.desk.exportReceipts(to: archive)
        #expect(try await archive.erase(.decided(before: .distantFuture)) == 1)
        let verification = try await archive.verify()
        #expect(verification.isIntact)
        #expect(verification.counts.erased == 1)
        let text = try String(contentsOfFile: try #require(archive.files().first), encoding: .utf8)
        for word in ["alice", "billing", "deploy-1"] { #expect(!text.contains(word)) }
        bench.clock.advance(by: .seconds(10))
        try await bench.perform(Bench.request("deploy-2"))
        #expect(try await bench.desk.exportReceipts(to: archive).lastNumber == 2)
    }

    @Test func anothersFolderIsRefused() async throws {
        let folder = try TemporaryFolder()
        let archive = ReceiptArchive(folder: folder.file("questions"))
        let bench = try await Bench()
        try await bench.perform()
        try await bench.desk.exportReceipts(to: archive)
        let other = try await Bench.desk(.inMemory(), bench.server, audience: "other")
        let error = await #expect(throws: MobileTokenError.self) { try await other.exportReceipts(to: archive) }
        #expect(error?.code == .receiptsDiffer)
        // Nor do decisions go among questions.
        let decisions = await #expect(throws: MobileTokenError.self) {
            try await archive.export(from: ActivationStore.inMemory())
        }
        #expect(decisions?.code == .receiptsDiffer)
    }

    @Test func thePollerWritesThem() async throws {
        let folder = try TemporaryFolder()
        let archive = ReceiptArchive(folder: folder.file("questions"))
        let bench = try await Bench { $0.receipts = archive }
        try await bench.perform()
        let running = Task { try await bench.desk.run() }
        await until { (try? await Self.states(archive)) == ["done"] }
        running.cancel()
        _ = await running.result
    }
}
