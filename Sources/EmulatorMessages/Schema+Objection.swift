import Basics
package import ExactJSON

extension Schema {
    /// What is wrong with a value, and where.
    package struct Objection: Sendable, Equatable {
        /// For the person who wrote the value.
        package let message: String
        /// The way to what is wrong, or to the object that lacks something: the number of the element or member at each level.
        package let place: [Int]
    }

    /// Returns what is wrong with a value and where, for the person who wrote it; `nil` for a value of this form.
    package func objection(to value: JSONValue) -> String? { self.mistake(in: value)?.message }

    /// Returns what is wrong with a value, and the way to it; `nil` for a value of this form.
    package func mistake(in value: JSONValue) -> Objection? { self.objection(to: value, at: Place()) }

    private func objection(to value: JSONValue, at place: Place) -> Objection? {
        switch self {
        case .anything: nil
        case .named(_, let schema): schema.objection(to: value, at: place)
        case .string(let rule): rule.objection(to: value, named: place.quoted).map(place.objection)
        case .boolean: value.bool == nil ? place.objection("\(place.quoted) is not true or false") : nil
        case .integer(let range):
            if let number = value.int64 {
                range.contains(number) ? nil : place.objection("\(place.quoted) is not \(range.shown)")
            } else {
                place.objection("\(place.quoted) is not a whole number")
            }
        case .number(let range):
            if let number = value.number.flatMap({ Double($0.literal) }) {
                range.contains(number)
                    ? nil : place.objection("\(place.quoted) is not \(range.lowerBound) to \(range.upperBound)")
            } else {
                place.objection("\(place.quoted) is not a number")
            }
        case .list(let element): Self.objection(toList: value, of: element, at: place)
        case .object(let members, let others):
            if let object = value.object {
                Self.objection(to: object, members, others, at: place)
            } else {
                place.objection("\(place.quoted) is not an object")
            }
        }
    }

    private static func objection(toList value: JSONValue, of element: Schema, at place: Place) -> Objection? {
        guard let elements = value.array else { return place.objection("\(place.quoted) is not a list") }
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
        // The meaning of a member that is given twice would depend on the reader.
        if let repeated = object.duplicateKeys.first(where: isRead) {
            let last = object.members.lastIndex { $0.key.isExactly(repeated) } ?? 0
            let member = place.member(repeated, last)
            return member.objection("\(member.quoted) is given twice")
        }
        for (index, given) in object.members.enumerated() {
            let inner = place.member(given.key, index)
            if let member = members.first(where: { $0.name.isExactly(given.key) }) {
                if given.value.isNull, !member.isRequired { continue }
                if let objection = member.schema.objection(to: given.value, at: inner) { return objection }
            } else if let others {
                if let objection = others.objection(to: given.value, at: inner) { return objection }
            } else {
                return Self.objection(toUnknown: given.key, members, at: inner)
            }
        }
        for member in members where member.isRequired && object[member.name] == nil {
            return place.objection("\(place.member(member.name, 0).quoted) is missing")
        }
        return nil
    }

    private static func objection(toUnknown name: String, _ members: [Member], at place: Place) -> Objection {
        let unknown = "\(place.quoted) is not known here"
        let names = members.map(\.name)
        if let closest = Suggestion.closest(to: name, among: names) {
            return place.objection("\(unknown); did you mean '\(closest)'?")
        }
        return place.objection(names.isEmpty ? unknown : "\(unknown): there are \(names.joined(separator: ", "))")
    }
}

/// The way to a value, for people and for programs.
private struct Place {
    var path = ""
    var numbers: [Int] = []

    func member(_ name: String, _ index: Int) -> Self {
        // Of a name that is no name, a beginning tells enough.
        let name = name.unicodeScalars.count > 64 ? String(name.unicodeScalars.prefix(64)) + "…" : name
        return Self(path: self.path.isEmpty ? name : "\(self.path).\(name)", numbers: self.numbers + [index])
    }

    func element(_ index: Int) -> Self { Self(path: "\(self.path)[\(index)]", numbers: self.numbers + [index]) }

    var quoted: String { self.path.isEmpty ? "The body" : "'\(self.path)'" }

    func objection(_ message: String) -> Schema.Objection { .init(message: message, place: self.numbers) }
}

extension Schema.StringRule {
    fileprivate func objection(to value: JSONValue, named name: String) -> String? {
        guard let string = value.string else { return "\(name) is not a string" }
        guard self.values.isEmpty || self.values.contains(where: string.isExactly) else {
            return "\(name) is none of \(self.values.joined(separator: ", "))"
        }
        // An empty string where one is needed is as good as none.
        return string.unicodeScalars.count < self.minimumLength ? "\(name) is missing" : nil
    }
}

extension ClosedRange<Int64> {
    fileprivate var shown: String {
        self.upperBound == .max ? "at least \(self.lowerBound)" : "\(self.lowerBound) to \(self.upperBound)"
    }
}
