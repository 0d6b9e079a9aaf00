import Basics
package import ExactJSON
package import Foundation
import PowerAuthCrypto

/// The receipt of a question: its content, its people and its end, as known to the desk.
///
/// It proves the server's statements to the desk. Only the server can verify a person's act.
package struct QuestionReceipt: Sendable, Hashable {
    /// The permanent part.
    package struct Facts: Sendable, Hashable {
        /// The scope of the approvals.
        package var audience: String
        /// The digest of audience and name, which is the act's idempotency key: 64 hexadecimal digits.
        package var key: String
        /// The question's final state, with the ledger's name.
        package var state: String
        /// The code of the reason; `nil` if it ended well.
        package var code: String?
        /// The time of the question, by the desk's clock.
        package var asked: Date
        /// The time of its end, by the desk's clock.
        package var ended: Date
        /// The time to decide, in seconds.
        package var seconds: UInt64
        /// The SHA-256 of the action.
        package var actionDigest: [UInt8]
        /// The binding of each person: the SHA-256 of the question in its digested form.
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
    /// The number of the question's earlier receipt with an unknown end.
    package let completes: UInt64?
    let personalDigest: [UInt8]
    /// The names, the parameters and the answers, with their salt; `nil` once they were erased.
    package let personal: JSONObject?

    /// Records a question, with a new salt.
    ///
    /// - Parameters:
    ///   - questions: The question to each person, in its digested form.
    ///   - answers: The server's data on each person's operation.
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

    /// Returns the receipt as the completion of an earlier one.
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

    /// - Parameter personalBytes: The personal data as in the line.
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
            // The recorded questions must match their bindings.
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
        try self.checkPersonal()
    }
}
