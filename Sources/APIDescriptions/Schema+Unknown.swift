import Basics
package import ExactJSON

/// A member that a request gave and its reader did not know.
package struct UnknownMember: Sendable, Equatable {
    /// Its name.
    package let name: String
    /// The known one that may have been meant.
    package let suggestion: String?
}

extension Schema {
    /// Returns a value without the members that its reader ignores, and those members.
    package func withoutUnknown(_ value: JSONValue) -> (known: JSONValue, unknown: [UnknownMember]) {
        switch self {
        case .named(_, let schema): schema.withoutUnknown(value)
        case .tolerant(let schema): schema.droppingUnknown(from: value)
        case .ruled(let schema, _): schema.withoutUnknown(value)
        default: (value, [])
        }
    }

    private func droppingUnknown(from value: JSONValue) -> (known: JSONValue, unknown: [UnknownMember]) {
        if case .ruled(let schema, _) = self { return schema.droppingUnknown(from: value) }
        guard case .object(let members, nil) = self, let object = value.object else { return (value, []) }
        let names = members.map(\.name)
        let isKnown = { (name: String) in names.contains(where: name.isExactly) }
        let unknown = object.members.filter { !isKnown($0.key) }.map { member in
            UnknownMember(name: member.key.beginning, suggestion: Suggestion.closest(to: member.key, among: names))
        }
        return (.object(JSONObject(object.members.filter { isKnown($0.key) })), unknown)
    }
}
