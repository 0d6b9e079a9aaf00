import ExactJSON

/// A member of a struct with a single description: its name and form in JSON, and its documentation.
package struct Field<Root, Value: Sendable>: Sendable {
    package typealias Path<Member> = any KeyPath<Root, Member> & Sendable

    let member: Schema.Member
    let path: Path<Value>
    /// - Parameter given: `nil` for a member that is absent or `null`.
    let read: @Sendable (_ given: JSONValue?, Schema.Place) throws(Schema.Objection) -> Value
    /// Encodes the member; `nil` omits it.
    let write: @Sendable (Value) -> JSONValue?

    /// The field marked as specific to this server.
    package var ours: Self { Self(member: self.member.ours, path: self.path, read: self.read, write: self.write) }

    package static func required(
        _ name: String,
        _ path: Path<Value>,
        _ form: Form<Value>,
        _ summary: String = "",
        example: Value? = nil,
        unit: Schema.Unit? = nil
    ) -> Self {
        Self(
            member: .required(name, form.schema, summary, example: example.map(form.json), unit: unit),
            path: path,
            read: { (given, place) throws(Schema.Objection) in
                guard let given else { throw place.objection("is missing", nil) }
                return try form.convert(given, place)
            },
            write: { form.json($0) }
        )
    }

    package static func optional<Given>(
        _ name: String,
        _ path: Path<Value>,
        _ form: Form<Given>,
        _ summary: String = "",
        example: Given? = nil,
        unit: Schema.Unit? = nil
    ) -> Self where Value == Given? {
        Self(
            member: .optional(name, form.schema, summary, example: example.map(form.json), unit: unit),
            path: path,
            read: { (given, place) throws(Schema.Objection) in
                if let given { try form.convert(given, place) } else { nil }
            },
            write: { $0.map(form.json) }
        )
    }

    /// A required member of a property that other calls leave out.
    package static func demanded<Given>(_ name: String, _ path: Path<Value>, _ form: Form<Given>) -> Self
    where Value == Given? {
        Self(
            member: .required(name, form.schema),
            path: path,
            read: { (given, place) throws(Schema.Objection) in
                guard let given else { throw place.objection("is missing", nil) }
                return try form.convert(given, place)
            },
            write: { $0.map(form.json) }
        )
    }

    /// A member that this server always sends, and others may omit.
    package static func promised<Given>(
        _ name: String,
        _ path: Path<Value>,
        _ form: Form<Given>,
        _ summary: String = ""
    ) -> Self where Value == Given? {
        let field = Self.optional(name, path, form)
        return Self(member: .required(name, form.schema, summary), path: path, read: field.read, write: field.write)
    }

    /// A member that this server always sends, with a default value if others omit it.
    package static func promised(
        _ name: String,
        _ path: Path<Value>,
        _ form: Form<Value>,
        or absent: Value,
        _ summary: String = ""
    ) -> Self {
        let field = Self.preset(name, path, form, or: absent)
        return Self(member: .required(name, form.schema, summary), path: path, read: field.read, write: field.write)
    }

    /// A member with a default value.
    package static func preset(
        _ name: String,
        _ path: Path<Value>,
        _ form: Form<Value>,
        or absent: Value,
        _ summary: String = "",
        example: Value? = nil,
        unit: Schema.Unit? = nil
    ) -> Self {
        Self(
            member: .optional(name, form.schema, summary, example: example.map(form.json), unit: unit),
            path: path,
            read: { (given, place) throws(Schema.Objection) in
                if let given { try form.convert(given, place) } else { absent }
            },
            write: { form.json($0) }
        )
    }
}
