import Basics
package import DecisionReceipts
import ExactJSON
import PowerAuthCrypto

/// A line of an exported file: a journal entry, or a signature of all earlier lines.
///
/// ```
/// {"version":1,"previous":"<digest>","number":7, … ,"personalDigest":"<digest>","personal":{"salt":"…", … }}
/// ```
///
/// The personal data are the last member, and excluded from the line's digest. So erasing them keeps the digest and the chain.
package struct ReceiptLine: Sendable {
    package enum Content: Sendable, Hashable {
        case entry(DecisionReceipt.Entry)
        /// A question, numbered like an entry.
        case question(number: UInt64, QuestionReceipt)
        case signature(ReceiptSignature)
    }

    package static let version = 1
    private static let signatureKind = "signature"
    private static let unreadableKind = "unreadable"
    private static let personalMember = Array(#","personal":"#.utf8)

    /// The number of the entry or the question; `nil` for a signature.
    package var number: UInt64? {
        switch self.content {
        case .entry(let entry): entry.number
        case .question(let number, _): number
        case .signature: nil
        }
    }

    /// The digest of the previous line; zeros for the first one.
    package let previous: [UInt8]
    package let content: Content
    /// The line in the file, without its line break.
    package let bytes: [UInt8]
    /// The line without personal data, as digested.
    package let erasedBytes: [UInt8]

    /// The SHA-256 of the line without its personal data.
    package var digest: [UInt8] { SHA256.hash(self.erasedBytes) }

    package init(_ content: Content, previous: [UInt8]) {
        var json: JSONObject = [
            "version": .number(JSONNumber(Self.version)), "previous": .string(Hexadecimal.encode(previous)),
        ]
        var personalData: JSONObject?
        switch content {
        case .entry(let entry):
            json["number"] = .number(JSONNumber(entry.number))
            switch entry.content {
            case .intent(let intent):
                json.members += intent.json.members
                personalData = intent.saltedData?.json
            case .outcome(let outcome, let intent):
                json.members += outcome.facts.members
                json["of"] = .number(JSONNumber(intent))
            case .unreadable:
                json["kind"] = .string(Self.unreadableKind)
            }
        case .question(let number, let receipt):
            json["number"] = .number(JSONNumber(number))
            json.members += receipt.json.members
            personalData = receipt.personal
        case .signature(let signature):
            json["kind"] = .string(Self.signatureKind)
            json.members += signature.facts.members
        }
        self.previous = previous
        self.content = content
        self.erasedBytes = JSONValue.object(json).serialized()
        guard let personalData else {
            self.bytes = self.erasedBytes
            return
        }
        self.bytes =
            self.erasedBytes.dropLast() + Self.personalMember + JSONValue.object(personalData).serialized()
            + [UInt8(ascii: "}")]
    }

    package init(parsing bytes: [UInt8]) throws(ReceiptFault.Reason) {
        let json: JSONObject
        let personalBytes: [UInt8]?
        do {
            let root = try JSONDocument(parsing: bytes).root
            personalBytes = root["personal"].map { Array($0.bytes) }
            guard let object = try JSONValue(root).object else { throw ReceiptFault.Reason.malformed }
            json = object
        } catch {
            throw .malformed
        }
        guard json.duplicateKeys.isEmpty else { throw .malformed }
        guard json["version"] == .number(JSONNumber(Self.version)) else { throw .unknownVersion }
        self.bytes = bytes
        self.erasedBytes = try Self.erasing(personalBytes, from: bytes)
        do {
            self.previous = try json.bytes("previous", count: SHA256.byteCount)
            self.content = try Self.content(of: json, personalBytes)
        } catch let error as ReceiptFormatError {
            throw error.member == "personal" ? .personalDataChanged : .unreadableMember(error.member)
        } catch {
            throw .malformed
        }
    }

    private static func erasing(
        _ personalBytes: [UInt8]?,
        from bytes: [UInt8]
    ) throws(ReceiptFault.Reason) -> [UInt8] {
        guard let personalBytes else { return bytes }
        let suffix = self.personalMember + personalBytes + [UInt8(ascii: "}")]
        guard bytes.suffix(suffix.count).elementsEqual(suffix) else { throw .unreadableMember("personal") }
        return bytes.dropLast(suffix.count) + [UInt8(ascii: "}")]
    }

    private static func content(of json: JSONObject, _ personalBytes: [UInt8]?) throws -> Content {
        let kind = try json.string("kind")
        guard personalBytes == nil || kind == DecisionReceipt.Intent.kind || kind == QuestionReceipt.kind else {
            throw ReceiptFormatError(member: "personal")
        }
        switch kind {
        case DecisionReceipt.Intent.kind:
            var personalData: SaltedPersonalData?
            if let personalBytes, let personal = json["personal"] {
                // The bytes as written, in any order of members.
                guard SHA256.hash(personalBytes) == (try json.bytes("personalDigest", count: SHA256.byteCount)),
                    let personal = personal.object
                else { throw ReceiptFormatError(member: "personal") }
                personalData = try SaltedPersonalData(personal)
            }
            let intent = try DecisionReceipt.Intent(json, saltedData: personalData)
            return .entry(DecisionReceipt.Entry(number: try json.unsigned("number"), .intent(intent)))
        case DecisionOutcome.kind:
            let outcome = try DecisionOutcome(facts: json)
            let content = DecisionReceipt.Entry.Content.outcome(outcome, ofIntent: try json.unsigned("of"))
            return .entry(DecisionReceipt.Entry(number: try json.unsigned("number"), content))
        case self.unreadableKind:
            return .entry(DecisionReceipt.Entry(number: try json.unsigned("number"), .unreadable))
        case QuestionReceipt.kind:
            return .question(
                number: try json.unsigned("number"),
                try QuestionReceipt(json, personalBytes: personalBytes)
            )
        case self.signatureKind:
            return .signature(try ReceiptSignature(facts: json))
        default:
            throw ReceiptFormatError(member: "kind")
        }
    }
}
