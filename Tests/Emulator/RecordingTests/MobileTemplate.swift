import ExactJSON

/// The operation templates of the recorded cases, as the development server takes them.
enum MobileTemplate {
    /// - Parameters:
    ///   - texts: Title, message and labels by language; each label is the text of an attribute.
    static func template(
        _ name: String,
        data: String = "A2",
        factors: [String] = ["possession_knowledge"],
        failures: Int = 5,
        parameters: JSONObject = [:],
        texts: [(language: String, title: String, message: String)] = [("en", "Login", "Confirm")],
        attributes: [JSONValue] = [],
        more: JSONObject = [:]
    ) -> JSONValue {
        var template: JSONObject = [
            "name": .string(name), "operationType": .string(name), "data": .string(data), "expiresIn": 300,
            "maxFailureCount": .number(JSONNumber(failures)), "parameters": .object(parameters),
            "allowedSignatureType": [
                "type": factors.contains("possession") ? "1FA" : "2FA", "variants": .array(factors.map { .string($0) }),
            ],
            "texts": .object(
                JSONObject(
                    texts.map { text in
                        .init(
                            key: text.language,
                            value: ["title": .string(text.title), "message": .string(text.message)]
                        )
                    }
                )
            ),
            "formData": ["title": "@{title}", "message": "@{message}", "attributes": .array(attributes)],
        ]
        for member in more.members { template[member.key] = member.value }
        return .object(template)
    }

    static func amount(_ id: String, _ label: String, _ amount: String = "amount", _ currency: String = "currency")
        -> JSONValue
    {
        [
            "type": "AMOUNT", "id": .string(id), "label": .string(label), "amount": .string("${\(amount):number}"),
            "currency": .string("${\(currency)}"),
        ]
    }

    /// Those that most cases have.
    static let usual: [JSONValue] = [
        template(
            "mf_pay",
            data: "A1*A${amount}${currency}",
            factors: ["possession_knowledge", "possession_biometry"],
            parameters: ["amount": "1", "currency": "CZK"],
            texts: [("en", "Payment", "Confirm")],
            more: [
                "formData": [
                    "title": "@{title}", "message": "@{message}", "attributes": [amount("a", "Amount")],
                    "resultTexts": ["success": "Paid"],
                ]
            ]
        ),
        template("mf_1fa", factors: ["possession"]), template("mf_pay2", failures: 2), template("mf_pay1", failures: 1),
    ]
}
