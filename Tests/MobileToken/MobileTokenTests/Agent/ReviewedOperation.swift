import ExactJSON
import MobileToken

/// Operations for a policy to look at, as a server sends them.
enum ReviewedOperation {
    static let iban = "CZ5508000000001234567899"
    static let otherIBAN = "CZ6508000000192000145399"
    static let data = "A1*A10CZK*I\(iban)"

    static func amount(_ amount: JSONValue? = 10, _ currency: JSONValue? = "CZK", _ more: JSONObject = [:]) -> JSONValue
    {
        var object: JSONObject = ["type": "AMOUNT", "id": "operation.amount", "label": "Amount"]
        object["amount"] = amount
        object["currency"] = currency
        object.members += more.members
        return .object(object)
    }

    static func keyValue(_ value: String, id: String = "operation.account") -> JSONValue {
        ["type": "KEY_VALUE", "id": .string(id), "label": "To", "value": .string(value)]
    }

    static let account = keyValue(iban)

    static func make(
        _ attributes: JSONValue = [amount(), account],
        data: String = data,
        ui: JSONValue? = nil,
        variants: JSONValue = ["possession_knowledge"]
    ) throws -> UserOperation {
        var json: JSONObject = [
            "id": "1", "name": "authorize_payment", "data": .string(data), "status": "PENDING",
            "operationCreated": "2026-07-02T14:43:13Z", "operationExpires": "2026-07-02T14:48:13Z",
            "allowedSignatureType": ["type": "2FA", "variants": variants],
            "formData": ["title": "Payment", "message": "Pay?", "attributes": attributes],
        ]
        json["ui"] = ui
        return try UserOperation(parsing: .object(json))
    }

    static func review(
        _ attributes: JSONValue = [amount(), account],
        data: String = data,
        ui: JSONValue? = nil,
        variants: JSONValue = ["possession_knowledge"]
    ) throws -> OperationReview {
        OperationReview(
            of: try self.make(attributes, data: data, ui: ui, variants: variants),
            activationID: "activation"
        )
    }
}
