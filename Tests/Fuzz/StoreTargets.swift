import Basics
import Foundation
import PowerAuthCrypto

@testable import PowerAuth

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
