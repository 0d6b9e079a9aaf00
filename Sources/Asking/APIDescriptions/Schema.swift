import Basics
package import ExactJSON

/// The form of a JSON value.
///
/// Its single definition validates requests, describes responses and generates the API description.
package indirect enum Schema: Sendable {
    case anything
    case string(StringRule)
    case integer(ClosedRange<Int64>)
    case number(ClosedRange<Double>)
    case boolean
    /// Milliseconds since 1970.
    case timestamp
    case list(of: Schema)
    /// - Parameter others: The form of members with other names; `nil` allows none.
    case object([Member], others: Schema?)
    /// A form that the description shows once, under its own name.
    case named(String, Schema)
    /// An object whose reader ignores unknown members, as real servers do.
    case tolerant(Schema)
    /// An object with rules between its members.
    case ruled(Schema, [MemberRule])

    package struct StringRule: Sendable {
        package var minimumLength = 0
        package var maximumLength = Int.max
        /// The allowed strings; empty for any.
        package var values: [String] = []
        /// The OpenAPI format, such as `date-time`: a hint for readers, which is not checked.
        package var format: String?
    }

    /// A member of an object.
    package struct Member: Sendable {
        package let name: String
        package let schema: Schema
        /// Indicates whether the member is required. An optional one may also be `null`.
        package private(set) var isRequired: Bool
        package let summary: String
        /// Indicates whether only this server has it, in an otherwise real server's form.
        package private(set) var isOurs = false
        package let example: JSONValue?
        package let unit: Unit?

        /// The unit for readers.
        package var shownUnit: Unit? { self.unit ?? self.schema.unit }

        /// The member marked as specific to this server. It is optional: in requests, and in responses limited to real servers'
        /// members.
        package var ours: Self {
            var member = self
            member.isOurs = true
            member.isRequired = false
            return member
        }

        /// Indicates whether `null` is a value instead of an absent member.
        var takesNull: Bool { if case .anything = self.schema { self.isRequired } else { false } }

        package init(
            _ name: String,
            _ schema: Schema,
            isRequired: Bool = false,
            _ summary: String,
            example: JSONValue? = nil,
            unit: Unit? = nil
        ) {
            self.name = name
            self.schema = schema
            self.isRequired = isRequired
            self.summary = summary
            self.example = example
            self.unit = unit
        }

        package static func required(
            _ name: String,
            _ schema: Schema,
            _ summary: String = "",
            example: JSONValue? = nil,
            unit: Unit? = nil
        ) -> Self {
            Self(name, schema, isRequired: true, summary, example: example, unit: unit)
        }

        package static func optional(
            _ name: String,
            _ schema: Schema,
            _ summary: String = "",
            example: JSONValue? = nil,
            unit: Unit? = nil
        ) -> Self {
            Self(name, schema, summary, example: example, unit: unit)
        }
    }

    /// The unit or meaning of a number or a date.
    package enum Unit: String, Sendable {
        case count, seconds, steps, probability
        case bytesPerSecond = "bytes/second"
        case milliseconds = "milliseconds since 1970"
        case dateTime = "ISO 8601"
        /// A sequence number that identifies something.
        case number
        case status = "HTTP status"
        case version, seed
    }

    /// The unit implied by the form; `nil` if there is none, or the number is arbitrary.
    package var unit: Unit? {
        switch self {
        case .integer: .count
        case .timestamp: .milliseconds
        case .string(let rule) where rule.format == "date-time": .dateTime
        case .list(let element): element.unit
        default: nil
        }
    }
}

// MARK: - Common forms

extension Schema {
    package static var string: Self { .string(StringRule()) }
    /// A nonempty string.
    package static var word: Self { .string(StringRule(minimumLength: 1)) }
    package static var base64: Self { .string(StringRule(format: "byte")) }
    /// A date in ISO 8601.
    package static var date: Self { .string(StringRule(format: "date-time")) }
    package static var strings: Self { .list(of: .string) }
    /// A nonnegative integer.
    package static var count: Self { .integer(0...Int64.max) }

    package static func oneOf(_ values: [String]) -> Self { .string(StringRule(values: values)) }

    /// The raw value of a case.
    package static func oneOf<Value: CaseIterable & RawRepresentable<String>>(_ type: Value.Type) -> Self {
        .oneOf(type.allCases.map(\.rawValue))
    }

    /// An object with only these members.
    package static func object(_ members: [Member]) -> Self { .object(members, others: nil) }

    /// An object with at least these members.
    package static func open(_ members: [Member] = []) -> Self { .object(members, others: .anything) }

    /// A named object with only these members.
    package static func object(_ name: String, _ members: [Member]) -> Self { .named(name, .object(members)) }

    /// Returns a value without the members specific to this server.
    package func documented(_ value: JSONValue) -> JSONValue {
        switch self {
        case .named(_, let schema), .tolerant(let schema): return schema.documented(value)
        case .list(let element):
            guard let elements = value.array else { return value }
            return .array(elements.map(element.documented))
        case .object(let members, _):
            guard let object = value.object else { return value }
            return .object(
                JSONObject(
                    object.members.compactMap { given in
                        guard let member = members.first(where: { $0.name.isExactly(given.key) }) else { return given }
                        guard !member.isOurs else { return nil }
                        return .init(key: given.key, value: member.schema.documented(given.value))
                    }
                )
            )
        default: return value
        }
    }

    /// The form without its name, for a strict reader.
    package var strict: Self {
        switch self {
        case .named(_, let schema), .tolerant(let schema), .ruled(let schema, _): schema.strict
        default: self
        }
    }
}

// MARK: - JSON Schema

extension Schema {
    /// The form in OpenAPI 3.1; a named form is a reference.
    package var json: JSONObject {
        switch self {
        case .anything: [:]
        case .string(let rule): rule.json
        case .integer(let range): Self.json("integer", Self.bounds(range))
        case .number(let range): Self.json("number", Self.bounds(range))
        case .boolean: ["type": "boolean"]
        case .timestamp: ["type": "integer"]
        case .list(let element): ["type": "array", "items": .object(element.json)]
        case .object(let members, let others): Self.json(members, others)
        case .named(let name, _): ["$ref": .string("#/components/schemas/\(name)")]
        case .tolerant(let schema): schema.json.allowingMore
        case .ruled(let schema, let rules): rules.reduce(into: schema.json) { $1.state(in: &$0) }
        }
    }

    private static func json(_ type: String, _ more: JSONObject) -> JSONObject {
        JSONObject([.init(key: "type", value: .string(type))] + more.members)
    }

    private static func json(_ members: [Member], _ others: Schema?) -> JSONObject {
        var object: JSONObject = ["type": "object"]
        let required = members.filter(\.isRequired).map { JSONValue.string($0.name) }
        if !required.isEmpty { object["required"] = .array(required) }
        if !members.isEmpty {
            object["properties"] = .object(JSONObject(members.map { .init(key: $0.name, value: .object($0.json)) }))
        }
        object["additionalProperties"] = others.map { .object($0.json) } ?? false
        return object
    }

    private static func bounds(_ range: ClosedRange<Int64>) -> JSONObject {
        var object: JSONObject = [:]
        if range.lowerBound > .min { object["minimum"] = .number(JSONNumber(range.lowerBound)) }
        if range.upperBound < .max { object["maximum"] = .number(JSONNumber(range.upperBound)) }
        return object
    }

    private static func bounds(_ range: ClosedRange<Double>) -> JSONObject {
        guard range.upperBound < .greatestFiniteMagnitude else { return [:] }
        return ["minimum": .init(floatLiteral: range.lowerBound), "maximum": .init(floatLiteral: range.upperBound)]
    }

    /// All named forms in this one, including itself.
    package var namedForms: [(name: String, schema: Schema)] {
        switch self {
        case .anything, .string, .integer, .number, .boolean, .timestamp: []
        case .list(let element): element.namedForms
        case .object(let members, let others): members.flatMap(\.schema.namedForms) + (others?.namedForms ?? [])
        case .named(let name, let schema): [(name, schema)] + schema.namedForms
        case .tolerant(let schema), .ruled(let schema, _): schema.namedForms
        }
    }
}

extension Schema.StringRule {
    fileprivate var json: JSONObject {
        var object: JSONObject = ["type": "string"]
        if self.minimumLength > 0 { object["minLength"] = .number(JSONNumber(self.minimumLength)) }
        if self.maximumLength < .max { object["maxLength"] = .number(JSONNumber(self.maximumLength)) }
        if !self.values.isEmpty { object["enum"] = .array(self.values.map { .string($0) }) }
        object["format"] = self.format.map { .string($0) }
        return object
    }
}

extension Schema.Member {
    fileprivate var json: JSONObject {
        var object = self.isRequired ? self.schema.json : self.schema.json.allowingNull
        let words = [self.summary, self.isOurs ? RouteDescription.Origin.emulator.sentence : ""]
        let description = words.filter { !$0.isEmpty }.joined(separator: " ")
        if !description.isEmpty { object["description"] = .string(description) }
        if self.isOurs { object["x-origin"] = .string(RouteDescription.Origin.emulator.rawValue) }
        if let unit = self.shownUnit { object["x-unit"] = .string(unit.rawValue) }
        if let example = self.example { object["examples"] = [example] }
        return object
    }
}

extension JSONObject {
    /// The form, with additional members allowed in objects.
    fileprivate var allowingMore: JSONObject {
        var object = self
        object["additionalProperties"] = true
        return object
    }

    /// The form or `null`.
    fileprivate var allowingNull: JSONObject {
        if self["$ref"] != nil { return ["oneOf": [.object(self), ["type": "null"]]] }
        var object = self
        if let type = self["type"] { object["type"] = [type, "null"] }
        if let values = self["enum"]?.array { object["enum"] = .array(values + [.null]) }
        return object
    }
}
