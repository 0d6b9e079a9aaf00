import ApprovalTesting
import Basics
import ExactJSON
import Foundation
import MobileTokenCloud
import MobileTokenTesting
import TestSupport
import Testing

@testable import MobileTokenApprovals
@testable import MobileTokenReceipts

/// The receipts of a desk: one for every question, answered or not.
@Suite(.timeLimit(.minutes(5))) struct ReceiptTests {
    private let folder: TemporaryFolder
    private let archive: ReceiptArchive

    init() throws {
        self.folder = try TemporaryFolder()
        self.archive = ReceiptArchive(folder: self.folder.file("questions"))
    }

    private func states() async throws -> [String] {
        try await self.archive.questionReceipts().map(\.facts.state)
    }

    @Test func everyEndHasAReceipt() async throws {
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

        #expect(try await bench.desk.exportReceipts(to: self.archive).entryCount == 6)
        #expect(
            try await self.states().sorted()
                == ["done", "expired", "mismatched", "rejected", "threw", "withdrawn"]
        )
        #expect(try await bench.desk.exportReceipts(to: self.archive).entryCount == 0)
        try await bench.desk.tickets(id: "open").first?.withdraw(reason: "not needed")
        #expect(try await bench.desk.exportReceipts(to: self.archive).entryCount == 1)
        let verification = try await self.archive.verify()
        #expect(verification.isIntact)
        #expect(verification.counts.questions == 7)
        let rejected = try #require(try await self.archive.questionReceipts().first { $0.facts.state == "rejected" })
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
        let bench = try await Bench(isDocumentedOnly: true)
        try await bench.perform(altered(Bench.request()) { $0.accepting = .unverifiedData })
        try await bench.desk.exportReceipts(to: self.archive)
        let answer = try #require(try await self.archive.questionReceipts().first?.personal?["answers"]?.array?.first)
        #expect(answer["evidence"]?.string == "unverifiedData" && answer["data"] == nil)
    }

    /// An approval may come until the server confirms the end.
    @Test func aReceiptWaitsForTheEndAtTheServer() async throws {
        let bench = try await Bench()
        bench.server.with { state in
            state.script = [:]
            state.cancelFailures = Array(repeating: TestServer.unanswered(lost: false), count: 9)
        }
        try await bench.desk.ask(Bench.request()).withdraw()
        #expect(try await bench.desk.exportReceipts(to: self.archive).entryCount == 0)
        bench.server.with { state in
            state.cancelFailures = []
            state.operations[0].status = "APPROVED"
        }
        try await bench.desk.core.step(LedgerKey(audience: "test", id: "deploy-1"))
        #expect(try await bench.desk.exportReceipts(to: self.archive).entryCount == 1)
        let answer = try #require(try await self.archive.questionReceipts().first?.personal?["answers"]?.array?.first)
        #expect(answer["surplus"] != nil)
    }

    @Test func aSettledQuestionHasASecondReceipt() async throws {
        let driver = StoppingLedger(MemoryLedger())
        let bench = try await Bench(ledger: .testing(driver))
        driver.set(.instead(.done))
        try await bench.perform()
        driver.set(nil)
        try await bench.desk.exportReceipts(to: self.archive)
        #expect(try await self.states() == ["unknown"])
        try await bench.desk.settle(id: "deploy-1", as: .wasDone, by: "carol")
        #expect(try await bench.desk.exportReceipts(to: self.archive).entryCount == 1)
        let receipts = try await self.archive.questionReceipts()
        #expect(receipts.map(\.facts.state) == ["unknown", "settled"])
        #expect(receipts.map(\.completes) == [nil, 1])
        #expect(receipts.last?.personal?["settled"]?["by"]?.string == "carol")
        let verification = try await self.archive.verify()
        #expect(verification.isIntact)
        #expect(verification.counts.questions == 1)
    }

    @Test(arguments: [#""state":"rejected""#, #""user":"alice""#, "A9*Tbilling", #"\"id\":\"deploy-1\""#])
    func whatIsChangedIsFound(_ words: String) async throws {
        let bench = try await Bench { $0.limits.questionInterval = .zero }
        bench.server.with { $0.script["alice"] = .init(status: "REJECTED") }
        _ = await bench.code()
        _ = await bench.code(of: Bench.request("deploy-2"))
        try await bench.desk.exportReceipts(to: self.archive)
        let path = try #require(self.archive.files().first)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.contains(words))
        let range = try #require(text.range(of: words))
        var changed = text
        let letter = changed.index(before: range.upperBound)
        let before = changed.index(before: letter)
        changed.replaceSubrange(before..<letter, with: changed[before] == "x" ? "y" : "x")
        try Data(changed.utf8).write(to: URL(filePath: path))
        #expect(try await self.archive.verify().fault != nil)
        await #expect(throws: (any Error).self) { try await bench.desk.exportReceipts(to: self.archive) }
    }

    @Test func personalDataAreErasedAndTheChainHolds() async throws {
        let bench = try await Bench()
        try await bench.perform()
        try await bench.desk.exportReceipts(to: self.archive)
        #expect(try await self.archive.erase(.decided(before: .distantFuture)) == 1)
        let verification = try await self.archive.verify()
        #expect(verification.isIntact)
        #expect(verification.counts.erased == 1)
        let text = try String(contentsOfFile: try #require(self.archive.files().first), encoding: .utf8)
        for word in ["alice", "billing", "deploy-1"] { #expect(!text.contains(word)) }
        bench.clock.advance(by: .seconds(10))
        try await bench.perform(Bench.request("deploy-2"))
        #expect(try await bench.desk.exportReceipts(to: self.archive).lastNumber == 2)
    }

    @Test func anothersFolderIsRefused() async throws {
        let bench = try await Bench()
        try await bench.perform()
        try await bench.desk.exportReceipts(to: self.archive)
        let other = try await Bench.desk(.inMemory(), bench.server, audience: "other")
        let error = await #expect(throws: MobileTokenError.self) { try await other.exportReceipts(to: self.archive) }
        #expect(error?.code == .receiptsDiffer)
        // Nor do decisions go among questions.
        let decisions = await #expect(throws: MobileTokenError.self) {
            try await self.archive.export(from: ActivationStore.inMemory())
        }
        #expect(decisions?.code == .receiptsDiffer)
    }

    @Test func thePollerWritesThem() async throws {
        let bench = try await Bench { $0.receipts = self.archive }
        try await bench.perform()
        let running = Task { try await bench.desk.run() }
        await until { (try? await self.states()) == ["done"] }
        running.cancel()
        _ = await running.result
    }

    private static func places(_ value: JSONValue, _ path: [String] = []) -> [(path: [String], value: JSONValue)] {
        let members = value.object?.members.map { ($0.key, $0.value) } ?? []
        let elements = (value.array ?? []).enumerated().map { (String($0.offset), $0.element) }
        return (members + elements).flatMap { name, value in
            [(path + [name], value)] + Self.places(value, path + [name])
        }
    }

    private static func replacing(_ path: ArraySlice<String>, of value: JSONValue, by other: JSONValue) -> JSONValue {
        guard let name = path.first else { return other }
        if var object = value.object {
            for index in object.members.indices where object.members[index].key == name {
                let member = object.members[index].value
                object.members[index].value = Self.replacing(path.dropFirst(), of: member, by: other)
            }
            return .object(object)
        }
        let elements = (value.array ?? []).enumerated().map { index, element in
            String(index) == name ? Self.replacing(path.dropFirst(), of: element, by: other) : element
        }
        return .array(elements)
    }

    private static func kind(_ value: JSONValue) -> Int {
        switch value {
        case .null: 0
        case .bool: 1
        case .number: 2
        case .string: 3
        case .array: 4
        case .object: 5
        }
    }

    /// Number 22: whoever writes the chain may fit the digest to what is written; what is no receipt is none nevertheless.
    @Test func membersOfOtherTypesAreMalformed() async throws {
        let bench = try await Bench()
        bench.server.with { $0.script["bob"] = .init(status: "REJECTED", reason: "no", registration: "device-2") }
        let request = Bench.request(from: .any(1, of: ["alice", "bob"], onRejection: .untilImpossible))
        try await bench.perform(request)
        try await bench.desk.exportReceipts(to: self.archive)
        let path = try #require(self.archive.files().first)
        let line = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")[0]
        var facts = try #require(try JSONValue(parsing: String(line)).object)
        let personal = try #require(facts["personal"])
        facts["personal"] = nil
        func parse(_ personal: JSONValue) throws {
            let bytes = personal.serialized()
            facts["personalDigest"] = .string(Hexadecimal.encode(SHA256.hash(bytes)))
            let written =
                JSONValue.object(facts).serialized().dropLast() + Array(#","personal":"#.utf8) + bytes + [0x7D]
            _ = try ReceiptLine(parsing: Array(written))
        }
        try parse(personal)
        let others: [JSONValue] = [.null, true, 1, "x", [], [1], [:], ["a": 1]]
        var count = 0
        for place in Self.places(personal) {
            for other in others where Self.kind(other) != Self.kind(place.value) {
                let changed = Self.replacing(place.path[...], of: personal, by: other)
                #expect(throws: ReceiptFault.Reason.self, "\(place.path) as \(other)") { try parse(changed) }
                count += 1
            }
        }
        #expect(count > 100)
    }

    /// Number 23: after the last number there is none.
    @Test func theLastNumberIsFollowedByNone() async throws {
        let bench = try await Bench { $0.limits.questionInterval = .zero }
        try await bench.perform()
        try await bench.desk.exportReceipts(to: self.archive)
        let receipt = try #require(try await self.archive.questionReceipts().first)
        let last = ReceiptLine(.question(number: .max, receipt), previous: ReceiptChain.start)
        try Data(last.bytes + [UInt8(ascii: "\n")]).write(to: URL(filePath: try #require(self.archive.files().first)))
        #expect(try await self.archive.verify().isIntact)
        try await bench.perform(Bench.request("deploy-2"))
        let error = await #expect(throws: MobileTokenError.self) {
            try await bench.desk.exportReceipts(to: self.archive)
        }
        #expect(error?.code == .receiptsDiffer)
    }
}
