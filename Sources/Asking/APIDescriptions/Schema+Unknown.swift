import Basics
package import ExactJSON

/// A member of a request unknown to its reader.
package struct UnknownMember: Sendable, Equatable {
    package let name: String
    /// The probably intended known name.
    package let suggestion: String?

    package init(name: String, suggestion: String?) {
        (self.name, self.suggestion) = (name, suggestion)
    }
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

    /// Returns the known name that was probably intended.
    static func suggestion(for name: String, among names: [String]) -> String? {
        // An activation of the other APIs is a registration in the cloud API.
        let registration = name.replacing("activation", with: "registration")
        return names.first { registration != name && $0.isExactly(registration) }
            ?? Suggestion.closest(to: name, among: names)
    }

    private func droppingUnknown(from value: JSONValue) -> (known: JSONValue, unknown: [UnknownMember]) {
        if case .ruled(let schema, _) = self { return schema.droppingUnknown(from: value) }
        guard case .object(let members, nil) = self, let object = value.object else { return (value, []) }
        let names = members.map(\.name)
        let isKnown = { (name: String) in names.contains(where: name.isExactly) }
        let unknown = object.members.filter { !isKnown($0.key) }.map { member in
            UnknownMember(name: member.key.beginning, suggestion: Self.suggestion(for: member.key, among: names))
        }
        return (.object(JSONObject(object.members.filter { isKnown($0.key) })), unknown)
    }
}
