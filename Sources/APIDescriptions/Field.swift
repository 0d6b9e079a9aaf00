import ExactJSON

/// One member of a struct, described once: its name and form in JSON, and what readers of the description are told.
package struct Field<Root, Value: Sendable>: Sendable {
    package typealias Path<Member> = any KeyPath<Root, Member> & Sendable

    let member: Schema.Member
    let path: Path<Value>
    /// - Parameter given: `nil` for a member that is left out or `null`.
    let read: @Sendable (_ given: JSONValue?, Schema.Place) throws(Schema.Objection) -> Value
    /// Writes the member; `nil` leaves it out.
    let write: @Sendable (Value) -> JSONValue?

    /// The same, as one that this server alone has.
    package var ours: Self { Self(member: self.member.ours, path: self.path, read: self.read, write: self.write) }

    /// A member that must be given.
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

    /// A member that may be left out.
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

    /// A member that this server always gives, and others may leave out.
    package static func promised<Given>(
        _ name: String,
        _ path: Path<Value>,
        _ form: Form<Given>,
        _ summary: String = ""
    ) -> Self where Value == Given? {
        let field = Self.optional(name, path, form)
        return Self(member: .required(name, form.schema, summary), path: path, read: field.read, write: field.write)
    }

    /// A member that this server always gives, and that has a value of its own where others leave it out.
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

    /// A member that has a value of its own where it is left out.
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
