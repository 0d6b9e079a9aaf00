import Basics
package import ExactJSON

extension Schema {
    /// A mistake in a value, with its place.
    package struct Objection: Error, Equatable {
        /// The path to the wrong or missing part by names: `parameters.amount`; empty for the whole body.
        package let member: String
        /// The mistake, as a continuation of the member's name.
        package let hint: String
        /// The path to the wrong part, or to the object that lacks one: the index at each level.
        package let place: [Int]
        /// The wrong value; `nil` for a missing one.
        package let value: JSONValue?

        package init(member: String, hint: String, place: [Int] = [], value: JSONValue? = nil) {
            self.member = member
            self.hint = hint
            self.place = place
            self.value = value
        }

        /// The message for the author of the value.
        package var message: String { "\(self.member.isEmpty ? "The body" : "'\(self.member)'") \(self.hint)" }
    }

    /// Returns the mistake in a value with its place, for the author; `nil` for a valid one.
    package func objection(to value: JSONValue) -> String? { self.mistake(in: value)?.message }

    /// Returns the mistake in a value and the path to it; `nil` for a valid one.
    package func mistake(in value: JSONValue) -> Objection? { self.objection(to: value, at: Place()) }

    private func objection(to value: JSONValue, at place: Place) -> Objection? {
        switch self {
        case .anything: nil
        case .named(_, let schema), .tolerant(let schema): schema.objection(to: value, at: place)
        case .string(let rule): rule.objection(to: value).map { place.objection($0, value) }
        case .ruled(let schema, let rules):
            schema.objection(to: value, at: place) ?? Self.objection(to: value, rules, at: place)
        case .timestamp: value.int64 == nil ? place.objection("is not a whole number", value) : nil
        case .boolean: value.bool == nil ? place.objection("is not true or false", value) : nil
        case .integer(let range):
            if let number = value.int64 {
                range.contains(number) ? nil : place.objection("is not \(range.shown)", value)
            } else {
                place.objection("is not a whole number", value)
            }
        case .number(let range):
            if let number = value.number.flatMap({ Double($0.literal) }) {
                range.contains(number)
                    ? nil : place.objection("is not \(range.lowerBound) to \(range.upperBound)", value)
            } else {
                place.objection("is not a number", value)
            }
        case .list(let element): Self.objection(toList: value, of: element, at: place)
        case .object(let members, let others):
            if let object = value.object {
                Self.objection(to: object, members, others, at: place)
            } else {
                place.objection("is not an object", value)
            }
        }
    }

    private static func objection(to value: JSONValue, _ rules: [MemberRule], at place: Place) -> Objection? {
        guard let object = value.object else { return nil }
        for rule in rules {
            guard let (member, hint) = rule.objection(to: object) else { continue }
            return place.objection(Objection(member: member, hint: hint, value: object[member]))
        }
        return nil
    }

    private static func objection(toList value: JSONValue, of element: Schema, at place: Place) -> Objection? {
        guard let elements = value.array else { return place.objection("is not a list", value) }
        for (index, value) in elements.enumerated() {
            if let objection = element.objection(to: value, at: place.element(index)) { return objection }
        }
        return nil
    }

    private static func objection(
        to object: JSONObject,
        _ members: [Member],
        _ others: Schema?,
        at place: Place
    ) -> Objection? {
        let isRead = { (name: String) in others == nil || members.contains { $0.name.isExactly(name) } }
        // The meaning of a repeated member would depend on the reader.
        if let repeated = object.duplicateKeys.first(where: isRead) {
            let last = object.members.lastIndex { $0.key.isExactly(repeated) } ?? 0
            return place.member(repeated, last).objection("is given twice", object[repeated])
        }
        for (index, given) in object.members.enumerated() {
            let inner = place.member(given.key, index)
            if let member = members.first(where: { $0.name.isExactly(given.key) }) {
                if given.value.isNull, !member.isRequired { continue }
                if !member.isRequired, member.schema.refusesEmptiness, given.value.string?.isEmpty == true {
                    return inner.objection("is empty", given.value)
                }
                if let objection = member.schema.objection(to: given.value, at: inner) { return objection }
            } else if let others {
                if let objection = others.objection(to: given.value, at: inner) { return objection }
            } else {
                return Self.objection(toUnknown: given.key, given.value, members, at: inner)
            }
        }
        for member in members where member.isRequired && object[member.name] == nil {
            return place.missing(member.name)
        }
        return nil
    }

    private static func objection(
        toUnknown name: String,
        _ value: JSONValue,
        _ members: [Member],
        at place: Place
    ) -> Objection {
        let unknown = "is not known here"
        let names = members.map(\.name)
        if let closest = Schema.suggestion(for: name, among: names) {
            return place.objection("\(unknown); did you mean '\(closest)'?", value)
        }
        let are = names.count == 1 ? "there is only" : "there are"
        let hint = names.isEmpty ? unknown : "\(unknown): \(are) \(names.joined(separator: ", "))"
        return place.objection(hint, value)
    }
}

extension Schema {
    /// Indicates whether the form is a nonempty string.
    private var refusesEmptiness: Bool { if case .string(let rule) = self { rule.minimumLength > 0 } else { false } }
}

extension String {
    /// The first 64 characters, for quoting overlong input.
    package var beginning: Self { self.unicodeScalars.count > 64 ? Self(self.unicodeScalars.prefix(64)) + "…" : self }
}

extension Schema.StringRule {
    fileprivate func objection(to value: JSONValue) -> String? {
        guard let string = value.string else { return "is not a string" }
        guard self.values.isEmpty || self.values.contains(where: string.isExactly) else {
            return "is none of \(self.values.joined(separator: ", "))"
        }
        guard string.unicodeScalars.count <= self.maximumLength else {
            return "is longer than \(self.maximumLength) characters"
        }
        // A required string that is empty counts as missing.
        return string.unicodeScalars.count < self.minimumLength ? "is missing" : nil
    }
}

extension ClosedRange<Int64> {
    fileprivate var shown: String {
        self.upperBound == .max ? "at least \(self.lowerBound)" : "\(self.lowerBound) to \(self.upperBound)"
    }
}
