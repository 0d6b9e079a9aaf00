import Basics
package import ExactJSON

/// A call as it is sent, apart from bytes: what stands in its path, in its query, and in its body.
package struct Call: Sendable {
    /// The segments of the path that stand for something, by their names.
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

    /// One part of what a call takes.
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
    /// A segment of the path.
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

    /// The whole query. What the table does not have is refused.
    package static func query<Value>(_ table: FieldTable<Value>) -> Part<Value> {
        let form = table.form
        return Part(
            query: table.members,
            body: nil,
            read: { (call) throws(Schema.Objection) in try form.read(.object(call.queryObject(table.members))) },
            write: { $1.append(form.json($0)) }
        )
    }

    /// The whole query, of two tables that have no name in common. What neither has is refused.
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

    /// Leaves out what a call is not described to take, as far as its reader may ignore it.
    ///
    /// - Returns: The parameters and the members that were left out.
    package mutating func dropUnknown(beside description: RouteDescription) -> [UnknownMember] {
        let query = Schema.tolerant(.object(description.query, others: nil))
            .withoutUnknown(.object(self.queryObject(description.query)))
        self.query.removeAll { pair in !description.query.contains { $0.name.isExactly(pair.name) } }
        guard let schema = description.request?.schema, let given = self.body else { return query.unknown }
        let body = schema.withoutUnknown(given)
        self.body = body.known
        return query.unknown + body.unknown
    }

    /// The query as an object of some members, for their schema to look at.
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

    /// A body that must be given.
    package static func body<Value>(_ form: Form<Value>) -> Part<Value> {
        Part(
            query: [],
            body: .required(form.schema),
            read: { (call) throws(Schema.Objection) in try form.read(call.body ?? .null) },
            write: { $1.body = form.json($0) }
        )
    }

    /// A body that may be left out.
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
    /// Reads a value of a query.
    package func value(ofText text: String) -> JSONValue {
        switch self {
        case .integer, .number, .timestamp: JSONNumber(literal: text).map { .number($0) } ?? .string(text)
        case .boolean: text == "true" ? true : text == "false" ? false : .string(text)
        default: .string(text)
        }
    }
}

extension JSONObject {
    /// The members that are among these.
    fileprivate func only(_ members: [Schema.Member]) -> JSONValue {
        .object(JSONObject(self.members.filter { given in members.contains { $0.name.isExactly(given.key) } }))
    }
}

extension JSONValue {
    /// The value as it stands in a query.
    fileprivate var text: String { self.string ?? String(decoding: self.serialized(), as: UTF8.self) }
}
