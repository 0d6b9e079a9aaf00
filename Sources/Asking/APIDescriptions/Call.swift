import Basics
package import ExactJSON

/// A call as JSON values: its path arguments, its query and its body.
package struct Call: Sendable {
    /// The named path segments.
    package var arguments: [String: String] = [:]
    package var query: [(name: String, value: String)] = []
    package var body: JSONValue?

    package init(
        arguments: [String: String] = [:],
        query: [(name: String, value: String)] = [],
        body: JSONValue? = nil
    ) {
        (self.arguments, self.query, self.body) = (arguments, query, body)
    }

    /// A part of a call's input.
    package struct Part<Value: Sendable>: Sendable {
        let query: [RouteDescription.Parameter]
        let body: RouteDescription.Body?
        let read: @Sendable (Call) throws(Schema.Objection) -> Value
        let write: @Sendable (Value, inout Call) -> Void
    }
}

extension Call.Part {
    package var takesBody: Bool { self.body != nil }
}

extension Call {
    /// A path segment.
    package static func segment(_ name: String) -> Part<String> {
        Part(
            query: [],
            body: nil,
            read: { (call) throws(Schema.Objection) in
                guard let argument = call.arguments[name] else { throw .init(member: name, hint: "is missing") }
                return argument
            },
            write: { $1.arguments[name] = $0 }
        )
    }

    /// The whole query. Names outside the table are refused.
    package static func query<Value>(_ table: FieldTable<Value>) -> Part<Value> {
        let form = table.form
        return Part(
            query: table.members,
            body: nil,
            read: { (call) throws(Schema.Objection) in try form.read(.object(call.queryObject(table.members))) },
            write: { $1.append(form.json($0)) }
        )
    }

    /// The whole query, of two tables without a common name. Names outside both are refused.
    package static func query<First, Second>(
        _ first: FieldTable<First>,
        _ second: FieldTable<Second>
    ) -> Part<(First, Second)> {
        let members = first.members + second.members
        let whole = Schema.object(members)
        return Part(
            query: members,
            body: nil,
            read: { (call) throws(Schema.Objection) in
                let object = call.queryObject(members)
                if let mistake = whole.mistake(in: .object(object)) { throw mistake }
                return (
                    try first.form.read(object.only(first.members)), try second.form.read(object.only(second.members))
                )
            },
            write: { value, call in
                call.append(first.form.json(value.0))
                call.append(second.form.json(value.1))
            }
        )
    }

    /// Removes undescribed parts that the reader may ignore.
    ///
    /// - Returns: The removed parameters and members.
    package mutating func dropUnknown(beside description: RouteDescription) -> [UnknownMember] {
        let query = Schema.tolerant(.object(description.query, others: nil))
            .withoutUnknown(.object(self.queryObject(description.query)))
        self.query.removeAll { pair in !description.query.contains { $0.name.isExactly(pair.name) } }
        guard let schema = description.request?.schema, let given = self.body else { return query.unknown }
        let body = schema.withoutUnknown(given)
        self.body = body.known
        return query.unknown + body.unknown
    }

    /// Returns the query as an object of some members, for validation by their schema.
    package func queryObject(_ members: [Schema.Member]) -> JSONObject {
        JSONObject(
            self.query.map { pair in
                let schema = members.first { $0.name.isExactly(pair.name) }?.schema
                return .init(key: pair.name, value: schema?.value(ofText: pair.value) ?? .null)
            }
        )
    }

    private mutating func append(_ query: JSONValue) {
        for member in query.object?.members ?? [] { self.query.append((member.key, member.value.text)) }
    }

    /// A required body.
    package static func body<Value>(_ form: Form<Value>) -> Part<Value> {
        Part(
            query: [],
            body: .required(form.schema),
            read: { (call) throws(Schema.Objection) in try form.read(call.body ?? .null) },
            write: { $1.body = form.json($0) }
        )
    }

    /// An optional body.
    package static func body<Value>(_ form: Form<Value>, or absent: Value) -> Part<Value> {
        Part(
            query: [],
            body: .optional(form.schema),
            read: { (call) throws(Schema.Objection) in if let body = call.body { try form.read(body) } else { absent }
            },
            write: { $1.body = form.json($0) }
        )
    }
}

extension Schema {
    /// Parses a value of a query.
    package func value(ofText text: String) -> JSONValue {
        switch self {
        case .integer, .number, .timestamp: JSONNumber(literal: text).map { .number($0) } ?? .string(text)
        case .boolean: text == "true" ? true : text == "false" ? false : .string(text)
        default: .string(text)
        }
    }
}

extension JSONObject {
    /// Returns the members with these names.
    fileprivate func only(_ members: [Schema.Member]) -> JSONValue {
        .object(JSONObject(self.members.filter { given in members.contains { $0.name.isExactly(given.key) } }))
    }
}

extension JSONValue {
    /// The value in a query.
    fileprivate var text: String { self.string ?? String(decoding: self.serialized(), as: UTF8.self) }
}
