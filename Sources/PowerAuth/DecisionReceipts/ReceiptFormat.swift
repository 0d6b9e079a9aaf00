import Basics
package import ExactJSON
package import Foundation
import PowerAuthCrypto

/// The missing or malformed member of a receipt's JSON.
package struct ReceiptFormatError: Error, Hashable, CustomStringConvertible {
    package let member: String

    package init(member: String) { self.member = member }

    package var description: String { "the member '\(self.member)' is missing or has another form" }
}

// The members of an entry in the order and with the names of the documented schema.

extension DecisionReceipt.Intent {
    package static let kind = "intent"

    package var json: JSONObject {
        var facts: JSONObject = [
            "kind": .string(Self.kind),
            "activation": .string(self.activationID),
            "move": .number(JSONNumber(self.moves)),
            "attempt": .number(JSONNumber(self.attempt)),
            "verdict": .string(self.verdict.rawValue),
        ]
        facts["policy"] = self.policy.map { ["name": .string($0.name), "version": .string($0.version)] }
        facts["complete"] = self.isComplete.map { .bool($0) }
        facts["factors"] = .string(self.factors)
        facts["fence"] = self.fence.map { .number(JSONNumber($0)) }
        facts["localTime"] = .string(ISO8601.preciseString(from: self.localDate))
        facts["serverTime"] = self.serverDate.map { .string(ISO8601.preciseString(from: $0)) }
        facts["arrivesBefore"] = self.arrivesBefore.map { .string(ISO8601.preciseString(from: $0)) }
        if !self.charges.isEmpty { facts["charges"] = .array(self.charges.map { .object($0.json) }) }
        facts["personalDigest"] = .string(Hexadecimal.encode(self.personalDataDigest))
        return facts
    }

    /// - Throws: An error also if the personal data do not match their digest.
    package init(_ facts: JSONObject, saltedData: SaltedPersonalData?) throws(ReceiptFormatError) {
        guard let verdict = DecisionIntent.Verdict(rawValue: try facts.string("verdict")) else {
            throw ReceiptFormatError(member: "verdict")
        }
        var policy: DecisionIntent.Policy?
        if let json = facts["policy"] {
            guard let json = json.object else { throw ReceiptFormatError(member: "policy") }
            policy = DecisionIntent.Policy(name: try json.string("name"), version: try json.string("version"))
        }
        guard facts["complete"] == nil || facts["complete"]?.bool != nil else {
            throw ReceiptFormatError(member: "complete")
        }
        let digest = try facts.bytes("personalDigest", count: SHA256.byteCount)
        guard saltedData == nil || saltedData?.digest == digest else {
            throw ReceiptFormatError(member: "personal")
        }
        self.init(
            moves: try facts.unsigned("move"),
            facts: DecisionIntent.Facts(
                activationID: try facts.string("activation"),
                attempt: Int(clamping: try facts.unsigned("attempt")),
                verdict: verdict,
                policy: policy,
                isComplete: facts["complete"]?.bool,
                factors: try facts.string("factors"),
                fence: facts["fence"] == nil ? nil : try facts.unsigned("fence"),
                localDate: try facts.date("localTime"),
                serverDate: facts["serverTime"] == nil ? nil : try facts.date("serverTime"),
                arrivesBefore: facts["arrivesBefore"] == nil ? nil : try facts.date("arrivesBefore"),
                charges: try facts.charges()
            ),
            personalDataDigest: digest,
            saltedData: saltedData
        )
    }
}

extension DecisionIntent.Charge {
    fileprivate var json: JSONObject {
        var json: JSONObject = ["limit": .string(self.limit)]
        json["currency"] = self.currency.map { .string($0) }
        json["amount"] = .string("\(self.amount)")
        return json
    }
}

extension JSONObject {
    fileprivate func charges() throws(ReceiptFormatError) -> [DecisionIntent.Charge] {
        guard let member = self["charges"] else { return [] }
        guard let array = member.array else { throw ReceiptFormatError(member: "charges") }
        var charges: [DecisionIntent.Charge] = []
        for element in array {
            guard let json = element.object, let amount = JSONNumber(literal: try json.string("amount"))?.decimal else {
                throw ReceiptFormatError(member: "charges")
            }
            let currency = json["currency"] == nil ? nil : try json.string("currency")
            charges.append(.init(limit: try json.string("limit"), currency: currency, amount: amount))
        }
        return charges
    }
}

extension SaltedPersonalData {
    package var json: JSONObject {
        var json: JSONObject = [
            "salt": .string(Hexadecimal.encode(self.salt)),
            "operation": .string(self.content.operationID),
            "data": .string(self.content.signed),
        ]
        json["shown"] = self.content.shown.map { .string($0) }
        json["reason"] = self.content.reason.map { .string($0) }
        return json
    }

    package init(_ json: JSONObject) throws(ReceiptFormatError) {
        self.init(
            salt: try json.bytes("salt", count: 16),
            content: DecisionIntent.PersonalData(
                operationID: try json.string("operation"),
                signed: try json.string("data"),
                shown: json["shown"] == nil ? nil : try json.string("shown"),
                reason: json["reason"] == nil ? nil : try json.string("reason")
            )
        )
    }

    /// SHA-256 of the JSON as written.
    var digest: [UInt8] { SHA256.hash(JSONValue.object(self.json).serialized()) }
}

extension DecisionOutcome {
    package static let kind = "outcome"

    package var facts: JSONObject {
        var facts: JSONObject = ["kind": .string(Self.kind), "result": .string(self.result.name)]
        switch self.result {
        case .refused(let code, let serverCode), .doubtful(let code, let serverCode):
            facts["code"] = .string(code)
            facts["serverCode"] = serverCode.map { .string($0) }
        case .unanswered(let code): facts["code"] = .string(code)
        case .accepted, .followed, .inferred, .notFollowed, .unknown: break
        }
        facts["localTime"] = .string(ISO8601.preciseString(from: self.localDate))
        facts["serverTime"] = self.serverDate.map { .string(ISO8601.preciseString(from: $0)) }
        return facts
    }

    package init(facts: JSONObject) throws(ReceiptFormatError) {
        let result: Result
        let name = try facts.string("result")
        switch name {
        case "accepted": result = .accepted
        case "refused", "doubtful":
            let serverCode = facts["serverCode"] == nil ? nil : try facts.string("serverCode")
            let code = try facts.string("code")
            result =
                name == "refused"
                ? .refused(code: code, serverCode: serverCode) : .doubtful(code: code, serverCode: serverCode)
        case "unanswered": result = .unanswered(code: try facts.string("code"))
        case "followed": result = .followed
        case "inferred": result = .inferred
        case "notFollowed": result = .notFollowed
        case "unknown": result = .unknown
        default: throw ReceiptFormatError(member: "result")
        }
        self.init(
            result,
            localDate: try facts.date("localTime"),
            serverDate: facts["serverTime"] == nil ? nil : try facts.date("serverTime")
        )
    }
}

// MARK: - Reading members

extension JSONObject {
    package func string(_ name: String) throws(ReceiptFormatError) -> String {
        guard let string = self[name]?.string else { throw ReceiptFormatError(member: name) }
        return string
    }

    package func unsigned(_ name: String) throws(ReceiptFormatError) -> UInt64 {
        guard let number = self[name]?.number.flatMap({ UInt64($0.literal) }) else {
            throw ReceiptFormatError(member: name)
        }
        return number
    }

    package func bytes(_ name: String, count: Int...) throws(ReceiptFormatError) -> [UInt8] {
        guard let bytes = Hexadecimal.decode(try self.string(name)), count.contains(bytes.count) else {
            throw ReceiptFormatError(member: name)
        }
        return bytes
    }

    package func date(_ name: String) throws(ReceiptFormatError) -> Date {
        let string = try self.string(name)
        // Accepts only the form that is written, so that a round trip is exact.
        guard let date = ISO8601.date(from: string)?.inWholeMilliseconds,
            ISO8601.preciseString(from: date).isExactly(string)
        else { throw ReceiptFormatError(member: name) }
        return date
    }
}
