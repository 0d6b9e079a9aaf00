import Basics
package import ExactJSON

extension Schema {
    /// An example value: the required members, and those with their own example.
    package var example: JSONValue { if case .anything = self { [:] } else { self.example(named: "") } }

    /// - Parameter name: The name of the member with this form.
    package func example(named name: String) -> JSONValue {
        switch self {
        case .anything: "…"
        case .string(let rule): .string(rule.example(named: name))
        case .integer(let range): .number(JSONNumber(min(max(1, range.lowerBound), range.upperBound)))
        case .number(let range): .number(JSONNumber(Int64(min(max(1, range.lowerBound), range.upperBound))))
        case .boolean: true
        case .timestamp: 1_772_352_000_000
        case .list(let element): [element.example(named: name)]
        case .object(let members, _): .object(Self.example(of: members.filter { $0.isRequired || $0.hasOwnExample }))
        case .named(_, let schema), .tolerant(let schema): schema.example(named: name)
        case .ruled(let schema, let rules):
            rules.reduce(schema.example(named: name)) { example, rule in
                rule.applied(to: example, members: schema.members)
            }
        }
    }

    private static func example(of members: [Member]) -> JSONObject {
        JSONObject(members.map { .init(key: $0.name, value: $0.shownExample) })
    }

    fileprivate var hasOwnExample: Bool {
        switch self {
        case .named(_, let schema), .tolerant(let schema), .ruled(let schema, _), .list(let schema):
            schema.hasOwnExample
        case .object(let members, _): members.contains(where: \.hasOwnExample)
        default: false
        }
    }

    fileprivate var members: [Member] {
        if case .object(let members, _) = self { members } else { [] }
    }
}

extension Schema.Member {
    /// The example for readers.
    package var shownExample: JSONValue { self.example ?? self.schema.example(named: self.name) }

    fileprivate var hasOwnExample: Bool { self.example != nil || self.schema.hasOwnExample }
}

extension Schema.MemberRule {
    /// Returns an example that follows the rule.
    fileprivate func applied(to example: JSONValue, members: [Schema.Member]) -> JSONValue {
        guard var object = example.object else { return example }
        func add(_ name: String) {
            guard object[name] == nil, let member = members.first(where: { $0.name.isExactly(name) }) else { return }
            object[name] = member.shownExample
        }
        switch self {
        case .either(let one, let other):
            if object[one] != nil { object[other] = nil } else if object[other] == nil { add(one) }
        case .needs(let one, let other): if object[one] != nil { add(other) }
        case .excludes(let others, let one): if object[one] != nil { for other in others { object[other] = nil } }
        }
        return .object(object)
    }
}

extension Schema.StringRule {
    fileprivate func example(named name: String) -> String {
        if let value = self.values.first { return value }
        switch self.format {
        case "byte": return "cGF5bWVudA=="
        case "date-time": return "2026-03-01T08:00:00.000Z"
        default: return String((Self.examples[name] ?? "text").prefix(self.maximumLength))
        }
    }

    /// Example strings by member name.
    private static let examples = [
        "activationCode": "VVVVV-VVVVV-VVVVV-VTFVA", "activationId": Self.identifier,
        "appId": "mobile-token", "applicationId": "mobile-token",
        "authHeader": "PowerAuth pa_version=\"3.3\"", "callbackId": Self.identifier,
        "callbackUrl": "https://bank.example.com/callbacks", "description": "An application of the bank",
        "id": Self.identifier, "language": "en", "message": "There is no such thing", "method": "POST",
        "name": "Alice's phone", "operationId": Self.identifier,
        "path": "/v2/operations", "registrationId": Self.identifier, "status": "PENDING", "subject": "News",
        "summary": "What is new", "template": "payment", "type": "payment", "uriId": "/operation/authorize",
        "url": "https://bank.example.com/callbacks", "userId": "alice", "username": "bank",
        "version": "3.3",
    ]

    private static let identifier = "0f038bac-6c94-45eb-b3a9-f92e809e8ea4"
}
