import APIDescriptions
import EmulatorMessages
import ExactJSON
import PowerAuthProtocol

/// Fills the placeholders of a string: `${name}` is a parameter of the operation, `@{name}` a text in the reader's language.
///
/// A text may hold parameters in its turn. Whatever a parameter's value looks like, it is never filled again.
package struct Placeholders {
    package enum Part: Equatable {
        case literal(String)
        case parameter(String)
        case text(String)
    }

    /// Splits a string. A `${` without its `}` is literal.
    package static func parts(of template: String) -> [Part] {
        // By bytes: to a `String`, a brace with a combining mark behind it is no brace.
        let bytes = template.utf8
        var parts: [Part] = []
        var (literal, position) = (bytes.startIndex, bytes.startIndex)
        while let sign = bytes[position...].firstIndex(where: { $0 == UInt8(ascii: "$") || $0 == UInt8(ascii: "@") }) {
            position = bytes.index(after: sign)
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

    /// - Throws: A mistake when a placeholder begins in a string and does not end.
    static func checkEnds(in value: JSONValue) throws(DocumentMistake) {
        switch value {
        case .string(let string):
            // A placeholder that ends is no literal.
            guard case .literal(let rest)? = self.parts(of: string).last else { return }
            for sign in ["${", "@{"] where rest.utf8.contains(sequence: sign.utf8) {
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

    /// The names of the parameters in a value, in the order of first use.
    static func parameters(in value: JSONValue) -> [String] {
        switch value {
        case .string(let string):
            self.parts(of: string).compactMap { part in
                if case .parameter(let name) = part { self.plainName(name) } else { nil }
            }
        case .array(let elements): elements.flatMap(self.parameters(in:))
        case .object(let object): object.members.flatMap { self.parameters(in: $0.value) }
        case .null, .bool, .number: []
        }
    }

    /// A parameter's name without the suffix that asks for a number.
    static func plainName(_ name: String) -> String {
        self.asksForNumber(name) ? String(Substring(name.utf8.dropLast(self.numberSuffix.utf8.count))) : name
    }

    /// `"amount": "${amount:number}"` becomes a JSON number with the parameter's digits.
    private static let numberSuffix = ":number"

    private static func asksForNumber(_ name: String) -> Bool {
        name.utf8.reversed().starts(with: self.numberSuffix.utf8.reversed())
    }

    /// The operation's parameters.
    var parameters: [String: JSONValue]
    /// The texts of one language.
    var texts: [String: String]

    /// Fills a whole value.
    func fill(_ value: JSONValue) throws(DocumentMistake) -> JSONValue {
        switch value {
        case .string(let template):
            let parts = Self.parts(of: template)
            if parts.count == 1, case .parameter(let name)? = parts.first, Self.asksForNumber(name) {
                return .number(try self.number(Self.plainName(name)))
            }
            return .string(try self.fill(parts) { $0 })
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

    /// Fills a string.
    ///
    /// - Parameter escape: Changes a parameter's value before it goes in.
    func fill(_ template: String, escape: (String) -> String = { $0 }) throws(DocumentMistake) -> String {
        try self.fill(Self.parts(of: template), escape: escape)
    }

    private func fill(_ parts: [Part], escape: (String) -> String) throws(DocumentMistake) -> String {
        var filled = ""
        for part in parts {
            switch part {
            case .literal(let string):
                filled += string
            case .parameter(let name):
                filled += escape(try self.string(ofParameter: Self.plainName(name)))
            case .text(let name):
                guard let text = self.texts[name] else { throw DocumentMistake("There is no text '\(name)'") }
                // One level: a text with texts in it would only hide a mistake.
                filled += try Self(parameters: self.parameters, texts: [:]).fill(text, escape: escape)
            }
        }
        return filled
    }

    private func string(ofParameter name: String) throws(DocumentMistake) -> String {
        switch self.parameters[name] {
        case .string(let string): return string
        case .number(let number): return number.literal
        case .bool(let flag): return flag ? "true" : "false"
        case .null, nil: throw self.objection(to: name, "is missing")
        case .array, .object: throw self.objection(to: name, "is not a string")
        }
    }

    private func number(_ name: String) throws(DocumentMistake) -> JSONNumber {
        guard let number = JSONNumber(literal: try self.string(ofParameter: name)) else {
            throw self.objection(to: name, "is not a number")
        }
        return number
    }

    private func objection(to name: String, _ hint: String) -> DocumentMistake {
        DocumentMistake(.init(member: "parameters.\(name)", hint: hint, value: self.parameters[name]))
    }
}

extension Collection<UInt8> {
    fileprivate func contains(sequence: some Collection<UInt8>) -> Bool {
        self.indices.contains { self[$0...].starts(with: sequence) }
    }
}
