import ExactJSON
import PowerAuthCrypto

// Handwritten encoding, because each question is written five times and an encoder takes ten times as long. A decoder reads it.
extension QuestionRecord {
    /// The question in its row's format.
    var serialized: [UInt8] {
        let json: JSONObject = .present([
            "nonce": .string(Base64.encode(self.fixed.nonce)),
            "asked": .number(self.asked),
            "revision": .number(Int64(self.revision)),
            "state": .string(self.state.rawValue),
            "parts": .array(self.parts.map(\.json)),
            "approved": .number(self.approved),
            "ended": .number(self.ended),
            "reason": self.reason.map { ["code": .string($0.code), "message": .string($0.message)] },
            "claim": self.claim.map { ["token": .number($0.token), "at": .number($0.at)] },
            "settled": self.settled.map {
                ["outcome": .string($0.outcome.rawValue), "person": .string($0.person), "at": .number($0.at)]
            },
        ])
        // The terms never change, and were encoded before.
        return Array(#"{"terms":"#.utf8) + self.fixed.text + [UInt8(ascii: ",")]
            + JSONValue.object(json).serialized().dropFirst()
    }
}

extension QuestionRecord.Part {
    fileprivate var json: JSONValue {
        .object(
            .present([
                "person": self.person.json,
                "sent": .number(self.sent),
                "attempts": .number(Int64(self.attempts)),
                "operationID": .string(self.operationID),
                "operationType": .string(self.operationType),
                "created": .number(self.created),
                "expires": .number(self.expires),
                "answer": .string(self.answer.rawValue),
                "lastPending": .number(self.lastPending),
                "finalized": .number(self.finalized),
                "signedData": .string(self.signedData),
                "registrationID": .string(self.registrationID),
                "factors": .string(self.factors),
                "reason": .string(self.reason),
                "evidence": .string(self.evidence?.rawValue),
                "deviceSignature": .string(self.deviceSignature),
                "isOver": .bool(self.isOver),
                "isSurplus": .bool(self.isSurplus),
                "strays": .strings(self.strays),
            ])
        )
    }
}

extension Terms {
    /// The terms in JSON: equal terms always have equal bytes.
    var text: [UInt8] {
        let json: JSONObject = .present([
            "audience": .string(self.audience),
            "id": .string(self.id),
            "approvers": self.approvers.stored,
            "template": .object(
                .present([
                    "name": .string(self.template.name),
                    "signs": .string(self.template.signs),
                    "operationType": .string(self.template.operationType),
                ])
            ),
            "parameters": .strings(self.parameters),
            "seconds": .number(self.seconds),
            "actionDigest": .string(Base64.encode(self.actionDigest)),
            "validFor": .number(self.validFor),
            "factors": self.factors.map { .strings($0) },
            "devices": self.devices.map { .strings($0) },
            "minimumDeviceAge": .number(self.minimumDeviceAge),
            "offlineRegistrations": .strings(self.offlineRegistrations),
            "deviceKeys": self.deviceKeys.map { .members($0) { .strings($0) } },
            "acceptsUnverifiedData": .bool(self.acceptsUnverifiedData),
            "language": .string(self.language),
        ])
        return JSONValue.object(json).serialized()
    }
}

extension Approvers {
    fileprivate var stored: JSONValue {
        [
            "people": .array(self.people.map(\.json)),
            "needed": .number(Int64(self.needed)),
            "isInOrder": .bool(self.isInOrder),
            "onRejection": .string(self.onRejection.rawValue),
            "excluded": .array(self.excluded.map(\.json)),
            "isAll": .bool(self.isAll),
        ]
    }
}

extension JSONObject {
    /// Returns the members that have a value.
    fileprivate static func present(_ members: KeyValuePairs<String, JSONValue?>) -> Self {
        Self(members.compactMap { name, value in value.map { Member(key: name, value: $0) } })
    }
}

extension JSONValue {
    fileprivate static func number(_ value: Int64) -> Self { .number(JSONNumber(value)) }
    fileprivate static func strings(_ strings: [String]) -> Self { .array(strings.map { .string($0) }) }
    fileprivate static func strings(_ strings: [String: String]) -> Self { .members(strings) { .string($0) } }

    fileprivate static func members<Value>(_ values: [String: Value], _ json: (Value) -> Self) -> Self {
        .object(JSONObject(values.sorted { $0.key < $1.key }.map { .init(key: $0.key, value: json($0.value)) }))
    }
}

extension JSONValue? {
    fileprivate static func number(_ value: Int64?) -> Self { value.map { .some(.number(JSONNumber($0))) } ?? .none }
    fileprivate static func string(_ value: String?) -> Self { value.map { .some(.string($0)) } ?? .none }
}

extension QuestionRecord: Decodable {
    private enum CodingKeys: CodingKey {
        case terms, nonce, asked, revision, state, parts, approved, ended, reason, claim, settled
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            fixed: FixedTerms(
                try container.decode(Terms.self, forKey: .terms),
                nonce: try container.decode(Base64Coded.self, forKey: .nonce).wrappedValue
            ),
            asked: try container.decode(Int64.self, forKey: .asked),
            revision: try container.decode(UInt32.self, forKey: .revision),
            state: try container.decode(ApprovalState.self, forKey: .state),
            parts: try container.decode([Part].self, forKey: .parts),
            approved: try container.decodeIfPresent(Int64.self, forKey: .approved),
            ended: try container.decodeIfPresent(Int64.self, forKey: .ended),
            reason: try container.decodeIfPresent(Reason.self, forKey: .reason),
            claim: try container.decodeIfPresent(Claim.self, forKey: .claim),
            settled: try container.decodeIfPresent(Settled.self, forKey: .settled)
        )
    }
}
