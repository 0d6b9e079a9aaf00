import ExactJSON
import MobileToken
import TestSupport

/// JSON as servers send it, to be varied by tests.
enum ServerJSON {
    static let operation: JSONValue = [
        "id": "930febe7-f350-419a-8bc0-c8883e7f71e3",
        "name": "authorize_payment",
        "data": "A1*A100CZK*Q238400856/0300**D20170629*NUtility Bill Payment - 05/2017",
        "status": "PENDING",
        "operationCreated": "2018-08-08T12:30:42+0000",
        "operationExpires": "2018-08-08T12:35:43+0000",
        "allowedSignatureType": ["type": "2FA", "variants": ["possession_knowledge", "possession_biometry"]],
        "formData": [
            "title": "Potvrzení platby",
            "message": "Dobrý den, prosíme o potvrzení následující platby:",
            "attributes": [],
        ],
    ]

    static let message: JSONValue = [
        "id": "7d9fe8f2", "type": "html", "subject": "Welcome", "summary": "You are in", "body": "<p>You are in</p>",
        "read": false, "timestampCreated": "2022-08-25T22:34:58.702+0000",
    ]

    static func list(_ operations: [JSONValue], timestamp: JSONValue? = "2023-02-10T12:30:42+0000") -> [UInt8] {
        var answer: JSONObject = ["status": "OK"]
        answer["currentTimestamp"] = timestamp
        answer["responseObject"] = .array(operations)
        return JSONValue.object(answer).serialized()
    }

    static func object(_ object: JSONValue) -> [UInt8] {
        JSONValue.object(["status": "OK", "responseObject": object]).serialized()
    }

    static func operation(attributes: JSONValue...) -> JSONValue {
        self.operation.with("formData", "attributes", .array(attributes))
    }

    static func operation(ui: JSONValue) -> JSONValue {
        self.operation.with("ui", ui)
    }
}

extension JSONValue {
    /// This object with a member replaced; nil removes it.
    func with(_ name: String, _ value: JSONValue?) -> JSONValue {
        var object = self.object ?? [:]
        object[name] = value
        return .object(object)
    }

    /// This object with a member of a member replaced.
    func with(_ outer: String, _ inner: String, _ value: JSONValue?) -> JSONValue {
        self.with(outer, (self[outer] ?? [:]).with(inner, value))
    }

    /// This object with a member given a second time.
    func repeating(_ name: String, _ value: JSONValue) -> JSONValue {
        .object(altered(self.object ?? [:]) { $0.members.append(JSONObject.Member(key: name, value: value)) })
    }
}

extension [UInt8] {
    init(_ text: String) { self = Array(text.utf8) }
}

extension UserOperation {
    /// The paths of the issues, to compare in one go.
    var issuePaths: [String] { self.issues.map(\.path) }
}
