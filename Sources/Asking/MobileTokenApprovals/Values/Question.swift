import ExactJSON
import PowerAuthCrypto

/// The full question to a person in its digested form: the decision applies only to this.
struct Question: Equatable {
    static let format = "1"

    let audience: String
    let id: String
    /// 128 random bits from the ledger.
    let nonce: [UInt8]
    let approver: Approvers.Person
    let approvers: Approvers
    let template: ApprovalTemplate
    /// The parameters without binding and fingerprint.
    let parameters: [String: String]
    let seconds: Int64
    let actionDigest: [UInt8]

    /// The question as JSON with only strings.
    var json: JSONValue {
        [
            "format": .string(Self.format),
            "audience": .string(self.audience),
            "id": .string(self.id),
            "nonce": .string(Base64URL.encode(self.nonce)),
            "approver": .string(self.approver.id),
            "user": .string(self.approver.user),
            "approvers": self.approvers.json,
            "template": .string(self.template.name),
            "operationType": .string(self.template.operationType ?? ""),
            "signs": .string(self.template.signs),
            "parameters": .object(
                JSONObject(
                    self.parameters.sorted { $0.key < $1.key }.map {
                        JSONObject.Member(key: $0.key, value: .string($0.value))
                    }
                )
            ),
            "seconds": .string(String(self.seconds)),
            "action": .string(Base64URL.encode(self.actionDigest)),
        ]
    }

    func binding() throws -> Binding { Binding(digest: SHA256.hash(try CanonicalJSON.bytes(of: self.json))) }
}

/// The digest of a question.
struct Binding: Equatable {
    let digest: [UInt8]

    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    /// The operation's parameter that is part of its signed data.
    var string: String { Base64URL.encode(self.digest) }

    /// The first 40 bits for people: eight letters and digits that are hard to confuse (`7KQ4-M2XW`).
    var fingerprint: String {
        let bits = self.digest.prefix(5).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        var letters = (0..<8).map { Self.alphabet[Int(bits >> (35 - 5 * UInt64($0)) & 31)] }
        letters.insert(UInt8(ascii: "-"), at: 4)
        return String(decoding: letters, as: UTF8.self)
    }
}
