import ExactJSON

extension Schema {
    /// A rule between the members of an object.
    package enum MemberRule: Sendable {
        /// Exactly one of them is given.
        case either(String, or: String)
        /// The other member is given whenever the first one is.
        case needs(String, with: String)
        /// The other members are not given together with this one.
        case excludes([String], beside: String)
    }
}

extension Schema.MemberRule {
    /// Adds the rule in the terms of JSON Schema.
    ///
    /// It avoids `oneOf`, which client generators take for a choice between forms.
    func state(in form: inout JSONObject) {
        switch self {
        case .either(let one, let other):
            form["if"] = ["required": [.string(one)]]
            form["then"] = ["not": ["required": [.string(other)]]]
            form["else"] = ["required": [.string(other)]]
        case .needs(let one, let other):
            form["dependentRequired"] = .object(JSONObject([.init(key: one, value: [.string(other)])]))
        case .excludes(let others, let one):
            var schemas = form["dependentSchemas"]?.object ?? [:]
            schemas[one] = ["not": ["anyOf": .array(others.map { ["required": [.string($0)]] })]]
            form["dependentSchemas"] = .object(schemas)
        }
    }

    func objection(to object: JSONObject) -> (member: String, hint: String)? {
        let isGiven = { (name: String) in object[name].map { !$0.isNull } ?? false }
        return switch self {
        case .either(let one, let other):
            isGiven(one) == isGiven(other) ? ("", "needs either '\(one)' or '\(other)'") : nil
        case .needs(let one, let other):
            isGiven(one) && !isGiven(other) ? (one, "needs '\(other)' beside it") : nil
        case .excludes(let others, let one):
            isGiven(one) ? others.first(where: isGiven).map { ($0, "is given beside '\(one)'") } : nil
        }
    }
}
