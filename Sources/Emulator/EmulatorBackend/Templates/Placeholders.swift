import APIDescriptions
import EmulatorMessages
import ExactJSON

/// Fills a string's placeholders: `${name}` is a parameter of the operation, `@{name}` a text in the reader's language.
///
/// As in real servers, a missing parameter's placeholder stays, `${name:-text}` has a default, `$${name}` is not filled, and
/// values are filled recursively. Without any parameters, nothing is filled.
package struct Placeholders {
    package enum Part: Equatable {
        case literal(String)
        case parameter(String)
        case text(String)
    }

    /// Splits a string. A `${` without its `}` is literal.
    package static func parts(of template: String) -> [Part] {
        // By bytes: to a `String`, a brace followed by a combining mark is no brace.
        let bytes = template.utf8
        var parts: [Part] = []
        var (literal, position) = (bytes.startIndex, bytes.startIndex)
        while let sign = bytes[position...].firstIndex(where: { $0 == UInt8(ascii: "$") || $0 == UInt8(ascii: "@") }) {
            position = bytes.index(after: sign)
            if bytes[sign...].starts(with: "$${".utf8) {
                if literal < sign { parts.append(.literal(String(template[literal..<sign]))) }
                literal = position
                position = bytes[position...].firstIndex(of: UInt8(ascii: "}")) ?? bytes.endIndex
                continue
            }
            guard bytes[position...].first == UInt8(ascii: "{") else { continue }
            guard let end = bytes[position...].firstIndex(of: UInt8(ascii: "}")) else { break }
            if literal < sign { parts.append(.literal(String(template[literal..<sign]))) }
            let name = String(template[bytes.index(after: position)..<end])
            parts.append(bytes[sign] == UInt8(ascii: "$") ? .parameter(name) : .text(name))
            position = bytes.index(after: end)
            literal = position
        }
        if literal < bytes.endIndex { parts.append(.literal(String(template[literal...]))) }
        return parts
    }

    /// - Throws: An error if a placeholder in a string is not closed.
    static func checkEnds(in value: JSONValue) throws(DocumentMistake) {
        switch value {
        case .string(let string):
            // A closed placeholder is no literal.
            guard case .literal(let rest)? = self.parts(of: string).last else { return }
            for sign in ["${", "@{"]
            where rest.utf8.contains(sequence: sign.utf8) && !rest.utf8.contains(UInt8(ascii: "}")) {
                throw DocumentMistake("'\(sign)' begins a placeholder that has no '}'")
            }
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                do { try self.checkEnds(in: element) } catch { throw error.inside([index]) }
            }
        case .object(let object):
            for (index, member) in object.members.enumerated() {
                do { try self.checkEnds(in: member.value) } catch { throw error.inside([index]) }
            }
        case .null, .bool, .number: break
        }
    }

    /// Returns the names of the parameters in a value, in the order of first use.
    static func parameters(in value: JSONValue) -> [String] {
        switch value {
        case .string(let string):
            self.parts(of: string).compactMap { part in
                if case .parameter(let name) = part { Reference(name).name } else { nil }
            }
        case .array(let elements): elements.flatMap(self.parameters(in:))
        case .object(let object): object.members.flatMap { self.parameters(in: $0.value) }
        case .null, .bool, .number: []
        }
    }

    /// A placeholder's reference to a parameter.
    private struct Reference {
        let name: String
        /// The default for a missing parameter.
        var substitute: String?
        /// Indicates whether `"amount": "${amount:number}"` becomes a JSON number with the parameter's digits.
        var asksForNumber = false

        init(_ text: String) {
            let bytes = text.utf8
            let suffix = ":number".utf8
            if let mark = bytes.indices.first(where: { bytes[$0...].starts(with: ":-".utf8) }) {
                self.name = String(text[..<mark])
                self.substitute = String(text[bytes.index(mark, offsetBy: 2)...])
            } else if bytes.reversed().starts(with: suffix.reversed()) {
                (self.name, self.asksForNumber) = (String(Substring(bytes.dropLast(suffix.count))), true)
            } else {
                self.name = text
            }
        }
    }

    private let parameters: [String: String]
    /// The texts of one language; `nil` leaves their placeholders.
    private let texts: [String: String]?

    /// - Parameter escape: Escapes a parameter's value before it is inserted.
    init(parameters: [String: JSONValue], texts: [String: String]? = nil, escape: (String) -> String = { $0 }) {
        self.parameters = parameters.compactMapValues { Self.text($0).map(escape) }
        self.texts = texts
    }

    /// Returns a parameter's value as a string; `nil` if it has none.
    static func text(_ value: JSONValue) -> String? {
        switch value {
        case .string(let string): string
        case .number(let number): number.literal
        case .bool(let flag): flag ? "true" : "false"
        case .null, .array, .object: nil
        }
    }

    /// Fills a whole value.
    func fill(_ value: JSONValue) throws(DocumentMistake) -> JSONValue {
        switch value {
        case .string(let template):
            let parts = Self.parts(of: template)
            if parts.count == 1, case .parameter(let text)? = parts.first, Reference(text).asksForNumber,
                let number = self.parameters[Reference(text).name].flatMap({ JSONNumber(literal: $0) })
            {
                return .number(number)
            }
            return .string(try self.fill(template))
        case .array(let elements):
            var filled: [JSONValue] = []
            for (index, element) in elements.enumerated() {
                do { filled.append(try self.fill(element)) } catch { throw error.inside([index]) }
            }
            return .array(filled)
        case .object(var object):
            for index in object.members.indices {
                do { object.members[index].value = try self.fill(object.members[index].value) } catch {
                    throw error.inside([index])
                }
            }
            return .object(object)
        case .null, .bool, .number:
            return value
        }
    }

    /// Fills an attribute: a member with exactly one parameter takes its value unchanged, or is omitted if that is missing. Texts
    /// for people are never filled.
    func fill(attribute: JSONObject) throws(DocumentMistake) -> JSONObject {
        var filled: JSONObject = [:]
        for (index, member) in attribute.members.enumerated() {
            do {
                filled[member.key] = try self.fill(member)
            } catch {
                throw error.inside([index])
            }
        }
        return filled
    }

    private func fill(_ member: JSONObject.Member) throws(DocumentMistake) -> JSONValue? {
        if ["id", "label"].contains(member.key) {
            return try Self(parameters: [:], texts: self.texts).fill(member.value)
        }
        if let object = member.value.object { return .object(try self.fill(attribute: object)) }
        guard let template = member.value.string else { return member.value }
        let parts = Self.parts(of: template)
        if parts.count == 1, case .parameter(let text)? = parts.first {
            let reference = Reference(text)
            return (self.parameters[reference.name] ?? reference.substitute).map { .string($0) }
        }
        return .string(try self.fill(template))
    }

    func fill(_ template: String) throws(DocumentMistake) -> String {
        try self.fill(template, inside: [])
    }

    /// - Parameter names: The parameters whose values contain the string.
    private func fill(_ template: String, inside names: [String]) throws(DocumentMistake) -> String {
        var filled = ""
        for part in Self.parts(of: template) {
            switch part {
            case .literal(let string):
                filled += string
            case .parameter(let text):
                let reference = Reference(text)
                guard !self.parameters.isEmpty, let value = self.parameters[reference.name] ?? reference.substitute
                else {
                    filled += "${\(text)}"
                    continue
                }
                guard !names.contains(reference.name), names.count < 8 else {
                    throw DocumentMistake(
                        .init(member: "parameters.\(reference.name)", hint: "stands in its own value", value: nil)
                    )
                }
                filled += try self.fill(value, inside: names + [reference.name])
            case .text(let name):
                guard let texts = self.texts else {
                    filled += "@{\(name)}"
                    continue
                }
                guard let text = texts[name] else { throw DocumentMistake("There is no text '\(name)'") }
                // One level: texts in it stay unfilled.
                filled += try self.withoutTexts.fill(text, inside: names)
            }
        }
        return filled
    }

    private var withoutTexts: Self { Self(parameters: self.parameters) }

    private init(parameters: [String: String]) { (self.parameters, self.texts) = (parameters, nil) }
}

extension Collection<UInt8> {
    fileprivate func contains(sequence: some Collection<UInt8>) -> Bool {
        self.indices.contains { self[$0...].starts(with: sequence) }
    }
}
