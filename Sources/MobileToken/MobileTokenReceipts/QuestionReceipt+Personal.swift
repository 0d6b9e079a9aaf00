import ExactJSON
import PowerAuth

extension QuestionReceipt {
    /// Checks the form of the personal data, without their digests.
    func checkPersonal() throws(ReceiptFormatError) {
        guard let personal else { return }
        _ = try personal.bytes("salt", count: 16)
        guard let answers = personal["answers"]?.array else { throw ReceiptFormatError(member: "answers") }
        for answer in answers {
            guard let json = answer.object else { throw ReceiptFormatError(member: "answers") }
            do { try Self.checkAnswer(json) } catch { throw ReceiptFormatError(member: "answers.\(error.member)") }
        }
        if let settled = personal["settled"] {
            guard let json = settled.object else { throw ReceiptFormatError(member: "settled") }
            for name in ["outcome", "by"] { _ = try json.string(name) }
        }
    }

    /// Checks the server's data on one person's operation.
    private static func checkAnswer(_ json: JSONObject) throws(ReceiptFormatError) {
        guard json.duplicateKeys.isEmpty, json["surplus"] == nil || json["surplus"]?.bool != nil else {
            throw ReceiptFormatError(member: "surplus")
        }
        for name in ["person", "user", "answer"] { _ = try json.string(name) }
        let optional = [
            "operation", "data", "registration", "evidence", "factors", "reason", "deviceSignature", "deviceKey",
        ]
        for name in optional where json[name] != nil { _ = try json.string(name) }
        if json["decidedAt"] != nil { _ = try json.date("decidedAt") }
    }
}
