import Basics
import ExactJSON
import Foundation
import StoreTesting
import Testing

@testable import DecisionReceipts
@testable import MobileTokenReceipts

/// Lines of exported receipts: what each holds, and what follows from what.
struct ReceiptChainTests {
    private let entries: [DecisionReceipt.Entry]
    private let lines: [ReceiptLine]

    init() {
        func intent(_ number: Int) -> DecisionReceipt.Entry.Content {
            .intent(DecisionReceipt.Intent(ActivationStoreConformance.intent("a", "\(number)"), moves: UInt64(number)))
        }
        let outcomes: [DecisionOutcome.Result] = [
            .unanswered(code: "timeout"), .refused(code: "operationFailed", serverCode: "OPERATION_FAILED"), .inferred,
        ]
        let results = outcomes.map { ActivationStoreConformance.outcome($0) }
        let contents = [
            intent(1), intent(2), .outcome(results[0], ofIntent: 1), .outcome(results[1], ofIntent: 2),
            .outcome(results[2], ofIntent: 1), intent(3),
        ]
        self.entries = contents.enumerated().map { DecisionReceipt.Entry(number: UInt64($0 + 1), $1) }
        self.lines = Self.chained(self.entries)
    }

    private static func chained(_ entries: [DecisionReceipt.Entry]) -> [ReceiptLine] {
        entries.reduce(into: []) { lines, entry in
            lines.append(ReceiptLine(.entry(entry), previous: lines.last?.digest ?? ReceiptChain.start))
        }
    }

    /// The fault of the first line that does not follow, and its index.
    private func fault(in lines: [[UInt8]]) -> (Int, ReceiptFault.Reason)? {
        var chain = ReceiptChain()
        for (index, line) in lines.enumerated() {
            do { try chain.add(line) } catch { return (index, error) }
        }
        return nil
    }

    private func expect(_ reason: ReceiptFault.Reason, at index: Int, in lines: [[UInt8]], line: Int = #line) {
        let fault = self.fault(in: lines)
        #expect(fault?.0 == index && fault?.1 == reason, "line \(line): \(String(describing: fault))")
    }

    private var bytes: [[UInt8]] { self.lines.map(\.bytes) }

    // MARK: What a line holds

    @Test func aLineIsReadAsItWasWritten() throws {
        for line in self.lines {
            let read = try ReceiptLine(parsing: line.bytes)
            #expect(read.content == line.content)
            #expect(read.previous == line.previous)
            #expect(read.digest == line.digest)
        }
    }

    /// The page on the schema shows this line.
    @Test func aLineHasTheDocumentedForm() throws {
        let data = SaltedPersonalData(
            salt: [UInt8](0..<16),
            content: .init(operationID: "b2bc", signed: "A1*A100CZK", shown: #"{"id":"b2bc"}"#)
        )
        let intent = DecisionReceipt.Intent(
            moves: 17,
            facts: .init(
                activationID: "5a24",
                attempt: 1,
                verdict: .approve,
                policy: DecisionIntent.Policy(name: "small payments", version: "7f3a"),
                isComplete: true,
                factors: "possession_knowledge",
                localDate: Date(timeIntervalSince1970: 1_767_225_600.25)
            ),
            personalDataDigest: data.digest,
            saltedData: data
        )
        let line = ReceiptLine(.entry(DecisionReceipt.Entry(number: 1, .intent(intent))), previous: ReceiptChain.start)
        #expect(
            String(decoding: line.bytes, as: UTF8.self) == """
                {"version":1,"previous":"0000000000000000000000000000000000000000000000000000000000000000","number":1,\
                "kind":"intent","activation":"5a24","move":17,"attempt":1,"verdict":"approve",\
                "policy":{"name":"small payments","version":"7f3a"},"complete":true,"factors":"possession_knowledge",\
                "localTime":"2026-01-01T00:00:00.250Z",\
                "personalDigest":"\(Hexadecimal.encode(SHA256.hash(JSONValue.object(data.json).serialized())))",\
                "personal":{"salt":"000102030405060708090a0b0c0d0e0f","operation":"b2bc","data":"A1*A100CZK",\
                "shown":"{\\"id\\":\\"b2bc\\"}"}}
                """
        )
        #expect(line.digest == SHA256.hash(line.erasedBytes))
        #expect(line.bytes.starts(with: line.erasedBytes.dropLast()))
    }

    @Test func equalPersonalDataHaveDifferentDigests() {
        let intent = ActivationStoreConformance.intent("a", "1")
        #expect(
            DecisionReceipt.Intent(intent, moves: 1).personalDataDigest
                != DecisionReceipt.Intent(intent, moves: 1).personalDataDigest
        )
    }

    // MARK: What follows from what

    @Test func linesThatFollowEachOtherAreCounted() throws {
        var chain = ReceiptChain()
        for line in self.bytes { try chain.add(line) }
        #expect(chain.head == self.lines.last?.digest)
        #expect(chain.latest?.number == 6)
        #expect(chain.firstNumber == 1)
        #expect(
            chain.counts
                == {
                    var counts = ReceiptVerification.Counts()
                    (counts.lines, counts.intents, counts.outcomes, counts.open) = (6, 3, 3, 1)
                    return counts
                }()
        )
    }

    @Test func erasedPersonalDataAreNoFault() throws {
        for erased in [[0], [5], [0, 1, 5]] {
            let lines = self.lines.enumerated().map { erased.contains($0) ? $1.erasedBytes : $1.bytes }
            #expect(self.fault(in: lines) == nil)
        }
        #expect(try ReceiptLine(parsing: self.lines[0].erasedBytes).digest == self.lines[0].digest)
    }

    /// Whatever byte of whatever line is changed: the line itself or the one after it is refused.
    @Test func everyChangedByteIsNoticed() {
        var unnoticed: [String] = []
        for index in self.bytes.indices.dropLast() {
            for offset in self.bytes[index].indices {
                var lines = self.bytes
                lines[index][offset] ^= 1
                guard let fault = self.fault(in: lines), (index...(index + 1)).contains(fault.0) else {
                    unnoticed.append("line \(index), byte \(offset)")
                    continue
                }
            }
        }
        #expect(unnoticed.isEmpty)
    }

    @Test func linesThatAreLeftOutMovedOrRepeatedAreNoticed() {
        for index in 1..<5 {
            var lines = self.bytes
            lines.remove(at: index)
            self.expect(.brokenChain, at: index, in: lines)
            lines = self.bytes
            lines.swapAt(index, index + 1)
            self.expect(.brokenChain, at: index, in: lines)
            lines = self.bytes
            lines.insert(lines[index], at: index)
            self.expect(.brokenChain, at: index + 1, in: lines)
        }
    }

    /// Somebody who makes all digests anew still cannot leave out an entry, or decide twice.
    @Test func aChainThatWasMadeAnewMustMakeSense() {
        var entries = self.entries
        entries.remove(at: 3)
        self.expect(.wrongNumber, at: 3, in: Self.chained(entries).map(\.bytes))

        let accepted = ActivationStoreConformance.outcome(.accepted)
        for intent: UInt64 in [2, 4, 5, 7] {
            entries =
                Array(self.entries.prefix(5)) + [DecisionReceipt.Entry(number: 6, .outcome(accepted, ofIntent: intent))]
            self.expect(.outcomeOfNothing, at: 5, in: Self.chained(entries).map(\.bytes))
        }
    }

    @Test func onlyWhatSaysMoreFollowsAnOutcome() {
        func lines(_ result: DecisionOutcome.Result) -> [[UInt8]] {
            let outcome = ActivationStoreConformance.outcome(result)
            let entries =
                Array(self.entries.prefix(5)) + [DecisionReceipt.Entry(number: 6, .outcome(outcome, ofIntent: 1))]
            return Self.chained(entries).map(\.bytes)
        }
        // The first one was inferred.
        #expect(self.fault(in: lines(.accepted)) == nil)
        #expect(self.fault(in: lines(.refused(code: "a", serverCode: "b"))) == nil)
        for result in [
            DecisionOutcome.Result.unknown, .followed, .notFollowed, .inferred, .unanswered(code: "timeout"),
        ] {
            self.expect(.outcomeOfNothing, at: 5, in: lines(result))
        }
    }

    @Test func laterFilesCanBeCheckedAlone() throws {
        var chain = ReceiptChain()
        for line in self.bytes.dropFirst(2) { try chain.add(line) }
        #expect(chain.firstNumber == 3)
        #expect(chain.counts.lines == 4)
    }

    @Test(
        arguments: [
            ("[]", .malformed), ("{", .malformed), ("", .malformed), (#"{"version":1,"version":1}"#, .malformed),
            (#"{"version":2}"#, .unknownVersion), (#"{"version":1}"#, .unreadableMember("previous")),
        ] as [(String, ReceiptFault.Reason)]
    )
    func whatIsNoLineSaysWhy(text: String, reason: ReceiptFault.Reason) {
        #expect(throws: reason) { try ReceiptLine(parsing: Array(text.utf8)) }
    }

    @Test(arguments: ["version", "previous", "number", "kind", "activation", "verdict", "policy", "personalDigest"])
    func everyMemberIsNeededInItsForm(name: String) throws {
        var json = try #require(try JSONValue(parsing: self.bytes[0]).object)
        json[name] = .bool(true)
        let expected = name == "version" ? ReceiptFault.Reason.unknownVersion : .unreadableMember(name)
        #expect(throws: expected) { try ReceiptLine(parsing: JSONValue.object(json).serialized()) }
    }

    @Test func changedPersonalDataAreNamed() throws {
        let text = String(decoding: self.bytes[0], as: UTF8.self)
        let changed = text.replacing("A100CZK", with: "A900CZK")
        #expect(throws: ReceiptFault.Reason.personalDataChanged) { try ReceiptLine(parsing: Array(changed.utf8)) }
        // A member behind the personal data would be no part of the digest.
        let longer = text.dropLast() + #","note":1}"#
        #expect(throws: ReceiptFault.Reason.unreadableMember("personal")) {
            try ReceiptLine(parsing: Array(longer.utf8))
        }
    }

    /// By a few lines of another language, from the documented schema alone.
    @Test func linesMadeElsewhereAreVerified() throws {
        let path = URL(filePath: #filePath).appending(path: "../../../../Programs/Fuzz/Corpora/receipts/01")
            .standardized.path
        let verification = try ReceiptArchive.verify(files: [path])
        #expect(verification.isIntact, "\(String(describing: verification.fault))")
        #expect(verification.counts.lines == 5)
        #expect(verification.counts.open == 0)
        #expect(verification.counts.erased == 0)
    }

    // MARK: Signatures

    @Test func aSignatureIsOfTheLinesBefore() throws {
        let key = P256PrivateKey.generate()
        let publicKey = key.publicKey.bytes(in: .compressed)
        func signed(head: [UInt8]) throws -> ReceiptSignature {
            ReceiptSignature(
                activationID: "a",
                devicePublicKey: publicKey,
                localDate: Date(timeIntervalSince1970: 1),
                signature: try key.derSignature(for: ReceiptSignature.message(head: head))
            )
        }
        let head = try #require(self.lines.last?.digest)
        let right = ReceiptLine(.signature(try signed(head: head)), previous: head)
        #expect(self.fault(in: self.bytes + [right.bytes]) == nil)
        let wrong = ReceiptLine(.signature(try signed(head: self.lines[4].digest)), previous: head)
        self.expect(.wrongSignature, at: 6, in: self.bytes + [wrong.bytes])

        // Somebody else's key makes a valid signature too, so the key must be known.
        var chain = ReceiptChain(devicePublicKeys: ["a": [2] + [UInt8](repeating: 0, count: 32)])
        for line in self.bytes { try chain.add(line) }
        #expect(throws: ReceiptFault.Reason.wrongSignature) { try chain.add(right.bytes) }
        chain = ReceiptChain(devicePublicKeys: ["a": publicKey])
        for line in self.bytes + [right.bytes] { try chain.add(line) }
        #expect(chain.signatures.map(\.activationID) == ["a"])
    }
}
