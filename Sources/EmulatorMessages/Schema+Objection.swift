import Basics
package import ExactJSON

extension Schema {
    /// Returns what is wrong with a value and where, for the person who wrote it; `nil` for a value of this form.
    package func objection(to value: JSONValue) -> String? { self.objection(to: value, at: "") }

    private func objection(to value: JSONValue, at path: String) -> String? {
        switch self {
        case .anything: nil
        case .named(_, let schema): schema.objection(to: value, at: path)
        case .string(let rule): rule.objection(to: value, at: path)
        case .boolean: value.bool == nil ? "\(Self.quoted(path)) is not true or false" : nil
        case .integer(let range):
            if let number = value.int64 {
                range.contains(number) ? nil : "\(Self.quoted(path)) is not \(range.shown)"
            } else {
                "\(Self.quoted(path)) is not a whole number"
            }
        case .number(let range):
            if let number = value.number.flatMap({ Double($0.literal) }) {
                range.contains(number) ? nil : "\(Self.quoted(path)) is not \(range.lowerBound) to \(range.upperBound)"
            } else {
                "\(Self.quoted(path)) is not a number"
            }
        case .list(let element): Self.objection(toList: value, of: element, at: path)
        case .object(let members, let others):
            if let object = value.object {
                Self.objection(to: object, members, others, at: path)
            } else {
                "\(Self.quoted(path)) is not an object"
            }
        }
    }

    private static func objection(toList value: JSONValue, of element: Schema, at path: String) -> String? {
        guard let elements = value.array else { return "\(Self.quoted(path)) is not a list" }
        for (index, value) in elements.enumerated() {
            if let objection = element.objection(to: value, at: "\(path)[\(index)]") { return objection }
        }
        return nil
    }

    private static func objection(
        to object: JSONObject,
        _ members: [Member],
        _ others: Schema?,
        at path: String
    ) -> String? {
        let isRead = { (name: String) in others == nil || members.contains { $0.name.isExactly(name) } }
        // The meaning of a member that is given twice would depend on the reader.
        if let repeated = object.duplicateKeys.first(where: isRead) {
            return "\(Self.quoted(repeated, in: path)) is given twice"
        }
        for given in object.members {
            let place = Self.path(given.key, in: path)
            if let member = members.first(where: { $0.name.isExactly(given.key) }) {
                if given.value.isNull, !member.isRequired { continue }
                if let objection = member.schema.objection(to: given.value, at: place) { return objection }
            } else if let others {
                if let objection = others.objection(to: given.value, at: place) { return objection }
            } else {
                return Self.objection(toUnknown: given.key, members, at: path)
            }
        }
        for member in members where member.isRequired && object[member.name] == nil {
            return "\(Self.quoted(member.name, in: path)) is missing"
        }
        return nil
    }

    private static func objection(toUnknown name: String, _ members: [Member], at path: String) -> String {
        let unknown = "\(Self.quoted(name, in: path)) is not known here"
        let names = members.map(\.name)
        if let closest = Suggestion.closest(to: name, among: names) { return "\(unknown); did you mean '\(closest)'?" }
        return names.isEmpty ? unknown : "\(unknown): there are \(names.joined(separator: ", "))"
    }

    // MARK: Places

    private static func path(_ name: String, in path: String) -> String {
        // Of a name that is no name, a beginning tells enough.
        let name = name.unicodeScalars.count > 64 ? String(name.unicodeScalars.prefix(64)) + "…" : name
        return path.isEmpty ? name : "\(path).\(name)"
    }

    private static func quoted(_ name: String, in path: String) -> String { "'\(Self.path(name, in: path))'" }

    fileprivate static func quoted(_ path: String) -> String { path.isEmpty ? "The body" : "'\(path)'" }
}

extension Schema.StringRule {
    fileprivate func objection(to value: JSONValue, at path: String) -> String? {
        guard let string = value.string else { return "\(Schema.quoted(path)) is not a string" }
        guard self.values.isEmpty || self.values.contains(where: string.isExactly) else {
            return "\(Schema.quoted(path)) is none of \(self.values.joined(separator: ", "))"
        }
        // An empty string where one is needed is as good as none.
        return string.unicodeScalars.count < self.minimumLength ? "\(Schema.quoted(path)) is missing" : nil
    }
}

extension ClosedRange<Int64> {
    fileprivate var shown: String {
        self.upperBound == .max ? "at least \(self.lowerBound)" : "\(self.lowerBound) to \(self.upperBound)"
    }
}
