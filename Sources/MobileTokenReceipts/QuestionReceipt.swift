import Basics
package import ExactJSON
package import Foundation
import PowerAuth
import PowerAuthCrypto

/// The receipt of a question that somebody asked: what was asked, of whom, and how it ended, as the desk knew it.
///
/// It proves what the server said to the desk. What a person did, only the server can check.
package struct QuestionReceipt: Sendable, Hashable {
    /// The part that stays.
    package struct Facts: Sendable, Hashable {
        /// The name of what the approvals are for.
        package var audience: String
        /// The digest of audience and name, which is the idempotency key of the act: 64 hexadecimal digits.
        package var key: String
        /// The state in which the question ended, by the name that the ledger has for it.
        package var state: String
        /// The code of the reason; `nil` when it ended well.
        package var code: String?
        /// The time when it was asked, by the desk's clock.
        package var asked: Date
        /// The time when it came to its end, by the desk's clock.
        package var ended: Date
        /// The time to decide.
        package var seconds: UInt64
        /// SHA-256 of the action.
        package var actionDigest: [UInt8]
        /// The binding of each person: SHA-256 of the question in the form in which it is digested.
        package var bindings: [[UInt8]]

        package init(
            audience: String,
            key: String,
            state: String,
            code: String?,
            asked: Date,
            ended: Date,
            seconds: UInt64,
            actionDigest: [UInt8],
            bindings: [[UInt8]]
        ) {
            self.audience = audience
            self.key = key
            self.state = state
            self.code = code
            self.asked = asked
            self.ended = ended
            self.seconds = seconds
            self.actionDigest = actionDigest
            self.bindings = bindings
        }
    }

    static let kind = "question"

    package let facts: Facts
    /// The number of the earlier receipt of the question, whose end was unknown then.
    package let completes: UInt64?
    let personalDigest: [UInt8]
    /// The names, the parameters and the answers, with their salt; `nil` once they were erased.
    package let personal: JSONObject?

    /// Records a question, with a new salt.
    ///
    /// - Parameters:
    ///   - questions: The question to each person, in the form that is digested.
    ///   - answers: The server's answer about each person's operation.
    package init(
        _ facts: Facts,
        completes: UInt64? = nil,
        questions: [String],
        answers: [JSONObject],
        settlement: JSONObject? = nil
    ) {
        var personal: JSONObject = [
            "salt": .string(Hexadecimal.encode(SecureRandom.bytes(16))),
            "questions": .array(questions.map { .string($0) }),
            "answers": .array(answers.map { .object($0) }),
        ]
        personal["settled"] = settlement.map { .object($0) }
        self.init(
            facts: facts,
            completes: completes,
            personalDigest: SHA256.hash(JSONValue.object(personal).serialized()),
            personal: personal
        )
    }

    private init(facts: Facts, completes: UInt64?, personalDigest: [UInt8], personal: JSONObject?) {
        self.facts = facts
        self.completes = completes
        self.personalDigest = personalDigest
        self.personal = personal
    }

    /// The same as the completion of an earlier receipt.
    func completing(_ number: UInt64) -> Self {
        Self(facts: self.facts, completes: number, personalDigest: self.personalDigest, personal: self.personal)
    }
}

extension QuestionReceipt {
    var json: JSONObject {
        var json: JSONObject = [
            "kind": .string(Self.kind),
            "audience": .string(self.facts.audience),
            "question": .string(self.facts.key),
            "state": .string(self.facts.state),
        ]
        json["code"] = self.facts.code.map { .string($0) }
        json["askedAt"] = .string(ISO8601.preciseString(from: self.facts.asked))
        json["endedAt"] = .string(ISO8601.preciseString(from: self.facts.ended))
        json["seconds"] = .number(JSONNumber(self.facts.seconds))
        json["action"] = .string(Hexadecimal.encode(self.facts.actionDigest))
        json["bindings"] = .array(self.facts.bindings.map { .string(Hexadecimal.encode($0)) })
        json["of"] = self.completes.map { .number(JSONNumber($0)) }
        json["personalDigest"] = .string(Hexadecimal.encode(self.personalDigest))
        return json
    }

    /// - Parameter personalBytes: The personal data as they stand in the line.
    init(_ json: JSONObject, personalBytes: [UInt8]?) throws(ReceiptFormatError) {
        let digest = try json.bytes("personalDigest", count: SHA256.byteCount)
        let bindings = (json["bindings"]?.array ?? []).compactMap { $0.string.flatMap { Hexadecimal.decode($0) } }
        guard !bindings.isEmpty, bindings.count == json["bindings"]?.array?.count,
            bindings.allSatisfy({ $0.count == SHA256.byteCount })
        else { throw ReceiptFormatError(member: "bindings") }
        var personal: JSONObject?
        if let personalBytes {
            guard SHA256.hash(personalBytes) == digest, let object = json["personal"]?.object else {
                throw ReceiptFormatError(member: "personal")
            }
            // Whoever wrote down other questions than those that were bound wrote no receipt of them.
            let questions = (object["questions"]?.array ?? []).map { SHA256.hash(Array(($0.string ?? "").utf8)) }
            guard questions == bindings else { throw ReceiptFormatError(member: "bindings") }
            personal = object
        }
        self.init(
            facts: Facts(
                audience: try json.string("audience"),
                key: try json.string("question"),
                state: try json.string("state"),
                code: json["code"] == nil ? nil : try json.string("code"),
                asked: try json.date("askedAt"),
                ended: try json.date("endedAt"),
                seconds: try json.unsigned("seconds"),
                actionDigest: try json.bytes("action", count: SHA256.byteCount),
                bindings: bindings
            ),
            completes: json["of"] == nil ? nil : try json.unsigned("of"),
            personalDigest: digest,
            personal: personal
        )
    }
}
