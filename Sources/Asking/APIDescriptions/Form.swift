import Basics
package import ExactJSON

/// The form of a value: its schema and its conversions from and to JSON.
package struct Form<Value: Sendable>: Sendable {
    package typealias Read = @Sendable (JSONValue, Schema.Place) throws(Schema.Objection) -> Value

    package let schema: Schema
    /// Converts a value that matches the schema; throws for rules that a schema cannot express.
    let convert: Read
    /// Encodes a value.
    package let json: @Sendable (Value) -> JSONValue

    package init(_ schema: Schema, read: @escaping Read, write: @escaping @Sendable (Value) -> JSONValue) {
        (self.schema, self.convert, self.json) = (schema, read, write)
    }

    /// - Throws: The first mistake in the value.
    package func read(_ value: JSONValue) throws(Schema.Objection) -> Value {
        if let mistake = self.schema.mistake(in: value) { throw mistake }
        return try self.convert(value, Schema.Place())
    }
}

extension Form {
    /// Reads another server's value, which may be of a later release: unknown members and strings are accepted.
    ///
    /// - Throws: The first member that is missing or unreadable.
    package func readTolerantly(_ value: JSONValue) throws(Schema.Objection) -> Value {
        try self.convert(value, Schema.Place())
    }
}

// MARK: - Common forms

extension Form {
    /// Creates a form from `read`, which returns `nil` for values that match the schema but are still invalid.
    private init(
        _ schema: Schema,
        _ hint: String,
        read: @escaping @Sendable (JSONValue) -> Value?,
        write: @escaping @Sendable (Value) -> JSONValue
    ) {
        self.init(
            schema,
            read: { (value, place) throws(Schema.Objection) in
                guard let found = read(value) else { throw place.objection(hint, value) }
                return found
            },
            write: write
        )
    }

    /// Returns the form of another type, converted from and to this one.
    package func map<Other>(
        _ make: @escaping @Sendable (Value) -> Other,
        from value: @escaping @Sendable (Other) -> Value
    ) -> Form<Other> {
        let (convert, json) = (self.convert, self.json)
        return Form<Other>(
            self.schema,
            read: { (given, place) throws(Schema.Objection) in make(try convert(given, place)) },
            write: { json(value($0)) }
        )
    }

    package static func list<Element>(of element: Form<Element>) -> Self where Value == [Element] {
        Self(
            .list(of: element.schema),
            read: { (value, place) throws(Schema.Objection) in
                guard let values = value.array else { throw place.objection("is not a list", value) }
                var elements: [Element] = []
                for (index, value) in values.enumerated() {
                    elements.append(try element.convert(value, place.element(index)))
                }
                return elements
            },
            write: { .array($0.map(element.json)) }
        )
    }

    /// The raw value of a case.
    package static func cases() -> Self where Value: CaseIterable & RawRepresentable<String> {
        .cases(of: Array(Value.allCases))
    }

    /// The raw value of one of some cases.
    package static func cases(of values: [Value]) -> Self where Value: RawRepresentable<String> {
        let schema = Schema.oneOf(values.map(\.rawValue))
        return Self(schema, "is not known", read: { $0.string.flatMap(Value.init) }, write: { .string($0.rawValue) })
    }

    /// The raw values of some cases, in any order.
    package static func set<Element: Hashable>(of element: Form<Element>) -> Self where Value == Set<Element> {
        Form<[Element]>.list(of: element).map(Set.init) { Array($0) }
    }
}

extension Form<String> {
    package static var string: Self { Self(.string) }
    package static var base64: Self { Self(.base64) }
    /// A nonempty string.
    package static var word: Self { Self(.word) }
    /// A nonempty string of at most `maximum` characters.
    package static func word(upTo maximum: Int) -> Self {
        Self(.string(.init(minimumLength: 1, maximumLength: maximum)))
    }
    package static func string(oneOf values: [String]) -> Self { Self(.oneOf(values)) }
    package static func string(upTo maximum: Int) -> Self { Self(.string(.init(maximumLength: maximum))) }

    private init(_ schema: Schema) {
        self.init(schema, "is not a string", read: \.string, write: { .string($0) })
    }
}

extension Form<Void> {
    /// A response that only confirms success.
    package static var done: Self {
        let isDone: @Sendable (JSONValue) -> Bool = { $0["status"]?.string?.isExactly("OK") == true }
        return Self(
            .done,
            "does not say that it was done",
            read: { isDone($0) ? () : nil },
            write: { ["status": "OK"] }
        )
    }
}

extension Form<Bool> {
    package static var boolean: Self { Self(.boolean, "is not true or false", read: \.bool, write: { .bool($0) }) }
}

extension Form where Value: FixedWidthInteger {
    package static func integer(_ range: ClosedRange<Value>) -> Self {
        let bounds = Int64(clamping: range.lowerBound)...Int64(clamping: range.upperBound)
        let read: @Sendable (JSONValue) -> Value? = { $0.int64.flatMap(Value.init(exactly:)) }
        return Self(.integer(bounds), "is out of range", read: read, write: { .number(JSONNumber($0)) })
    }

    /// A nonnegative integer.
    package static var count: Self { .integer(0...Value.max) }
}

extension Form<Double> {
    package static var number: Self { .number(-Double.greatestFiniteMagnitude...Double.greatestFiniteMagnitude) }

    package static func number(_ range: ClosedRange<Double>) -> Self {
        Self(
            .number(range),
            "is not a number",
            read: { $0.number?.double },
            write: { Int64(exactly: $0).map { .number(JSONNumber($0)) } ?? .init(floatLiteral: $0) }
        )
    }
}

extension Form<[String: String]> {
    /// Strings by name.
    package static var strings: Self {
        Self(
            .object([], others: .string),
            "is not an object of strings",
            read: { $0.object?.members.reduce(into: [:]) { $0[$1.key] = $1.value.string } },
            write: { strings in
                .object(
                    JSONObject(strings.sorted { $0.key < $1.key }.map { .init(key: $0.key, value: .string($0.value)) })
                )
            }
        )
    }
}

extension Form<[String: JSONValue]> {
    /// Any values by name.
    package static var values: Self {
        Self(
            .open(),
            read: { (value, place) throws(Schema.Objection) in
                guard let object = value.object else { throw place.objection("is not an object", value) }
                if let name = object.duplicateKeys.first {
                    throw place.objection("gives '\(name.beginning)' twice", value)
                }
                return object.members.reduce(into: [:]) { $0[$1.key] = $1.value }
            },
            write: { values in
                .object(JSONObject(values.sorted { $0.key < $1.key }.map { .init(key: $0.key, value: $0.value) }))
            }
        )
    }
}

extension Form<Int64> {
    /// Milliseconds since 1970.
    package static var timestamp: Self {
        Self(.timestamp, "is not a whole number", read: \.int64, write: { .number(JSONNumber($0)) })
    }
}

extension Form<JSONObject> {
    /// Any object, unchanged.
    package static var object: Self {
        Self(.open(), "is not an object", read: \.object, write: { .object($0) })
    }
}

extension Form<JSONValue> {
    /// Any JSON of a schema, unchanged.
    package static func json(_ schema: Schema) -> Self { Self(schema, "", read: { $0 }, write: { $0 }) }
}
