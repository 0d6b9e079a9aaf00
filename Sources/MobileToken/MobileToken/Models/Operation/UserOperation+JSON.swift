package import ExactJSON

// The JSON that a server would send for an operation built by hand.

extension OperationForm {
    var json: JSONValue {
        var members: JSONObject = [
            "title": .string(self.title), "message": .string(self.message),
            "attributes": .array(self.attributes.map(\.json)),
        ]
        members["resultTexts"] = self.resultTexts?.json
        return .object(members)
    }
}

extension OperationForm.ResultTexts {
    fileprivate var json: JSONValue {
        var members: JSONObject = [:]
        members["success"] = self.success.map { .string($0) }
        members["failure"] = self.failure.map { .string($0) }
        members["reject"] = self.reject.map { .string($0) }
        return .object(members)
    }
}

extension UserOperation.AllowedSignatureType {
    var json: JSONValue {
        ["type": .string(self.kind.rawValue), "variants": .array(self.variants.map { .string($0.rawValue) })]
    }
}

extension UserOperation.Attribute {
    fileprivate var json: JSONValue {
        if case .unknown(_, let json) = self.content { return json }
        let (type, content) = self.content.members
        var members: JSONObject = ["type": .string(type)]
        members["id"] = self.id.map { .string($0) }
        members["label"] = self.label.map { .string($0) }
        return .object(JSONObject(members.members + content.members))
    }
}

extension UserOperation.Attribute.Content {
    /// The type's name and its specific members.
    fileprivate var members: (type: String, JSONObject) {
        switch self {
        case .amount(let money): return ("AMOUNT", JSONObject(money.members(.plain)))
        case .amountConversion(let source, let target, let isDynamic):
            let dynamic = JSONObject.Member(key: "dynamic", value: .bool(isDynamic))
            return ("AMOUNT_CONVERSION", JSONObject(source.members(.source) + target.members(.target) + [dynamic]))
        case .keyValue(let value): return ("KEY_VALUE", ["value": .string(value)])
        case .note(let note): return ("NOTE", ["note": .string(note)])
        case .heading(let level):
            var members: JSONObject = [:]
            members["level"] = level.map { .number(JSONNumber($0)) }
            return ("HEADING", members)
        case .partyInfo(let party): return ("PARTY_INFO", ["partyInfo": party.json])
        case .image(let thumbnailURL, let originalURL):
            var members: JSONObject = ["thumbnailUrl": .string(thumbnailURL)]
            members["originalUrl"] = originalURL.map { .string($0) }
            return ("IMAGE", members)
        case .alert(let alert):
            var members: JSONObject = ["alertType": .string(alert.kind.rawValue)]
            members["message"] = alert.message.map { .string($0) }
            members["title"] = alert.title.map { .string($0) }
            return ("ALERT", members)
        case .unknown(let type, _): return (type ?? "", [:])
        }
    }
}

extension UserOperation.Attribute.Money {
    /// The amount with the digits that the server sent.
    package var number: JSONNumber? { self.digits.flatMap { JSONNumber(literal: $0) } }

    fileprivate func members(_ names: Names) -> [JSONObject.Member] {
        var members: JSONObject = [:]
        members[names.amount] = self.number.map { .number($0) }
        members[names.currency] = self.currency.map { .string($0) }
        members[names.amountFormatted] = .string(self.amountFormatted)
        members[names.currencyFormatted] = .string(self.currencyFormatted)
        members[names.valueFormatted] = self.valueFormatted.map { .string($0) }
        return members.members
    }
}

extension UserOperation.Attribute.PartyInfo {
    fileprivate var json: JSONValue {
        var members: JSONObject = [:]
        members["logoUrl"] = self.logoURL.map { .string($0) }
        members["name"] = self.name.map { .string($0) }
        members["description"] = self.description.map { .string($0) }
        members["websiteUrl"] = self.websiteURL.map { .string($0) }
        return .object(members)
    }
}
