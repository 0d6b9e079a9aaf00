import ExactJSON

/// An operation's attributes, as real servers make them from a template and its parameters.
enum ShownAttribute {
    /// Makes an attribute from a filled template, or `nil` if its content is missing.
    ///
    /// - Throws: The response of real servers to a level that is no number, for the whole list.
    static func shown(_ attribute: JSONObject, to reader: ReaderLocale) throws(Refusal) -> JSONValue? {
        guard let type = attribute["type"]?.string else { throw .unexpected("an attribute has no type") }
        guard var content = try Self.content(of: attribute, type, reader) else { return nil }
        // A template can provide its own string in place of a number's.
        for member in attribute.members where member.key.utf8.reversed().starts(with: "Formatted".utf8.reversed()) {
            content.members[member.key] = member.value
        }
        var shown: JSONObject = ["type": .string(content.type)]
        for name in ["id", "label"] { shown[name] = attribute[name] }
        shown.members += content.members.members
        return .object(shown)
    }

    private static func content(
        of attribute: JSONObject,
        _ type: String,
        _ reader: ReaderLocale
    ) throws(Refusal) -> (type: String, members: JSONObject)? {
        switch type {
        case "AMOUNT": return attribute.money("", reader).map { (type, $0) }
        case "AMOUNT_CONVERSION":
            guard let source = attribute.money("source", reader), let target = attribute.money("target", reader) else {
                return nil
            }
            let isDynamic = attribute.text("dynamic")?.lowercased() == "true"
            return (
                type, JSONObject([.init(key: "dynamic", value: .bool(isDynamic))] + source.members + target.members)
            )
        case "HEADING":
            let level = attribute.text("level").map { Int32($0) } ?? 0
            guard let level else { throw .unexpected("the level of a heading is no number") }
            return (type, ["level": .number(JSONNumber(level))])
        case "NOTE": return attribute.text("note").map { (type, ["note": .string($0)]) }
        case "ALERT":
            let known = ["SUCCESS", "WARNING", "ERROR"]
            let kind = known.first { attribute.text("alertType")?.uppercased() == $0 } ?? "INFO"
            return (type, attribute.texts("title", "message").with("alertType", .string(kind)))
        case "IMAGE":
            return attribute.text("thumbnailUrl").map { _ in (type, attribute.texts("thumbnailUrl", "originalUrl")) }
        case "PARTY_INFO":
            let party = (attribute["partyInfo"]?.object ?? [:]).texts("logoUrl", "name", "description", "websiteUrl")
            return (type, ["partyInfo": .object(party)])
        default: return attribute.text("value").map { ("KEY_VALUE", ["value": .string($0)]) }
        }
    }

    /// Adds formatted amounts to an attribute of a bank's custom operation.
    static func completed(_ attribute: JSONValue, for reader: ReaderLocale) -> JSONValue {
        guard var object = attribute.object else { return attribute }
        let prefixes = ["AMOUNT": [""], "AMOUNT_CONVERSION": ["source", "target"]][object["type"]?.string ?? ""] ?? []
        for prefix in prefixes {
            for member in object.money(prefix, reader)?.members ?? [] where object[member.key] == nil {
                object[member.key] = member.value
            }
        }
        return .object(object)
    }
}

extension JSONObject {
    /// Returns a string; a number or a Boolean in its literal form.
    fileprivate func text(_ name: String) -> String? {
        switch self[name] {
        case .string(let text)?: text
        case .number(let number)?: number.literal
        case .bool(let flag)?: flag ? "true" : "false"
        default: nil
        }
    }

    fileprivate func texts(_ names: String...) -> Self {
        JSONObject(names.compactMap { name in self.text(name).map { .init(key: name, value: .string($0)) } })
    }

    fileprivate func with(_ name: String, _ value: JSONValue) -> Self {
        var object = self
        object[name] = value
        return object
    }

    /// Returns an amount's members, if both number and currency are present.
    fileprivate func money(_ prefix: String, _ reader: ReaderLocale) -> Self? {
        func name(_ end: String) -> String {
            prefix.isEmpty ? end.prefix(1).lowercased() + end.dropFirst() : prefix + end
        }
        guard let amount = self.text(name("Amount")), let currency = self.text(name("Currency")) else { return nil }
        return MonetaryFormat.members(amount, currency, for: reader, name)
    }
}
