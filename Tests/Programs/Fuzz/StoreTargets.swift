import CommandLineSupport
import Basics
import ExactJSON
import Foundation
import MobileTokenReceipts

@testable import PowerAuthClient

let storeTargets = [
    // Lines of `name=base64`, those with `!` before the name secret.
    FuzzTarget("record-fields") { input in
        let fields = recordFields(input)
        let record = try fields.record(activationID: "a")
        let again = try RecordFields(record).record(activationID: "a")
        hold(RecordFields(again).open == RecordFields(record).open, "written and read again, it is another record")
        hold(RecordFields(again).secret == RecordFields(record).secret, "other secrets")
    },
    FuzzTarget("sealed-record") { input in
        let fields = recordFields(input)
        let sealed = SealedActivation(
            activationID: "a",
            fields: fields.open.map { .init(name: $0.key.string, isSealed: false, bytes: $0.value) }
                + fields.secret.map { field in
                    .init(name: field.key.string, isSealed: true, bytes: field.value.withUnsafeBytes { Array($0) })
                }
        )
        _ = try Sealing(key: SecretBytes(copying: [UInt8](1...32))).open(sealed)
        hold(false, "a record that nobody sealed was opened")
    },
    FuzzTarget("sealing-key-source") { input in
        let source = try SealingKeySource(input.text)
        let again = try? SealingKeySource(source.description)
        hold(again?.description.utf8.elementsEqual(source.description.utf8) ?? false, "another place")
        hold(!source.description.utf8.contains(0), "cut by a zero byte")
        let kinds = ["file:/", "env:", "command:"]
        hold(kinds.contains { source.description.utf8.starts(with: $0.utf8) }, "no place")
    },
    // A receipt sealed by the right key, perhaps by another version.
    FuzzTarget("receipt-facts") { input in
        guard let facts = try JSONValue(parsing: input).object else { return }
        if let outcome = try? DecisionOutcome(facts: facts) {
            hold(try DecisionOutcome(facts: outcome.facts) == outcome, "another outcome")
        }
        let intent = try DecisionReceipt.Intent(facts, saltedData: nil)
        hold(try DecisionReceipt.Intent(intent.json, saltedData: nil) == intent, "another intent")
    },
    // A file that was exported, whole, cut anywhere, or not of this program.
    FuzzTarget("receipt-file") { input in
        let path = NSTemporaryDirectory() + "fuzz-receipts-\(getpid()).jsonl"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data(input).write(to: URL(fileURLWithPath: path))
        let verification = try ReceiptArchive.verify(files: [path])
        let lines = input.count { $0 == 0x0A }
        hold(verification.counts.lines == lines || verification.fault != nil, "not every line was looked at")
        hold((verification.head == nil) == (verification.counts.lines == 0), "lines without an end")
        hold(
            verification.fault != nil
                || verification.tornByteCount == input.count - (input.lastIndex(of: 0x0A) ?? -1) - 1,
            "a rest of another length"
        )
    },
    // Lines of an exported file: what is read is written again as the same entry, and erasing keeps the digest.
    FuzzTarget("receipts") { input in
        var chain = ReceiptChain()
        for bytes in input.split(separator: 0x0A) {
            let line = try ReceiptLine(parsing: Array(bytes))
            let again = try ReceiptLine(parsing: ReceiptLine(line.content, previous: line.previous).bytes)
            hold(again.content == line.content, "written and read again, it says something else")
            hold(try ReceiptLine(parsing: line.erasedBytes).digest == line.digest, "erasing changed the digest")
            let before = chain
            do { try chain.add(line.bytes) } catch {
                hold(chain == before, "a line that does not follow was added")
                throw error
            }
        }
    },
]

private func recordFields(_ input: [UInt8]) -> RecordFields {
    var fields = RecordFields()
    var reader = InputReader(input)
    while !reader.rest.isEmpty {
        let parts = reader.line().utf8.split(separator: UInt8(ascii: "="), maxSplits: 1)
        guard let name = parts.first, let bytes = Base64.decode(parts.count > 1 ? String(parts[1]) ?? "" : "") else {
            continue
        }
        if name.first == UInt8(ascii: "!") {
            fields.secret[ExactString(String(name.dropFirst()) ?? "")] = SecretBytes(copying: bytes)
        } else {
            fields.open[ExactString(String(name) ?? "")] = bytes
        }
    }
    return fields
}
