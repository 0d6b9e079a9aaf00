import Basics
package import ExactJSON

/// A struct with a table of its fields.
package protocol Described: Sendable {
    static var fields: FieldTable<Self> { get }
}

/// A type-erased field.
private protocol FieldReader: Sendable {
    func value<Member>(
        of object: JSONObject,
        at place: Schema.Place,
        as type: Member.Type
    ) throws(Schema.Objection) -> Member
}

extension Field: FieldReader {
    fileprivate func value<Member>(
        of object: JSONObject,
        at place: Schema.Place,
        as type: Member.Type
    ) throws(Schema.Objection) -> Member {
        guard let value = try self.value(of: object, at: place) as? Member else {
            throw place.objection("is of another type than its field", nil)
        }
        return value
    }

    private func value(of object: JSONObject, at place: Schema.Place) throws(Schema.Objection) -> Value {
        let name = self.member.name
        guard let index = object.members.firstIndex(where: { $0.key.isExactly(name) }) else {
            return try self.read(nil, place.member(name, 0))
        }
        // Its meaning would depend on the reader.
        guard index == object.members.lastIndex(where: { $0.key.isExactly(name) }) else {
            throw place.member(name, index).objection("is given twice", nil)
        }
        let given = object.members[index].value
        guard !given.isNull || self.member.takesNull else { return try self.read(nil, place.member(name, index)) }
        return try self.read(given, place.member(name, index))
    }

    fileprivate var writer: @Sendable (Root) -> JSONObject.Member? {
        let (name, path, write) = (self.member.name, self.path, self.write)
        return { root in write(root[keyPath: path]).map { .init(key: name, value: $0) } }
    }
}

/// All members of a struct, from which decoding, validation, encoding and the API description follow.
///
/// ```swift
/// static let fields = FieldTable(
///     "NewUser",
///     NewUser.init(name:),
///     .required("username", \.name, .word)
/// )
/// ```
package struct FieldTable<Root: Sendable>: Sendable {
    /// The name in the API description.
    package let name: String
    package let members: [Schema.Member]
    private var isTolerant = false
    private var rules: [Schema.MemberRule] = []
    private var make: @Sendable (JSONObject, Schema.Place) throws(Schema.Objection) -> Root
    private let write: @Sendable (Root) -> JSONObject

    /// - Parameters:
    ///   - name: The name in the API description.
    ///   - make: Creates a value from its members, in the order of `fields`; throws if they contradict each other.
    ///   - fields: All members.
    package init<each Value: Sendable>(
        _ name: String,
        _ make: @escaping @Sendable (repeat each Value) throws(Schema.Objection) -> Root,
        _ fields: repeat Field<Root, each Value>
    ) {
        self.name = name
        var members: [Schema.Member] = []
        // By index and type-erased: iterating over the fields themselves would look up each type at run time, every time.
        var readers: [any FieldReader] = []
        var writers: [@Sendable (Root) -> JSONObject.Member?] = []
        for field in repeat each fields {
            members.append(field.member)
            readers.append(field)
            writers.append(field.writer)
        }
        self.members = members
        self.make = { [readers] (object, place) throws(Schema.Objection) in
            var next = readers.startIndex
            func value<Member>(_ type: Member.Type) throws(Schema.Objection) -> Member {
                defer { next += 1 }
                return try readers[next].value(of: object, at: place, as: type)
            }
            let values = (repeat try value((each Value).self))
            do throws(Schema.Objection) { return try make(repeat each values) } catch { throw place.objection(error) }
        }
        self.write = { [writers] root in JSONObject(writers.compactMap { $0(root) }) }
    }

    /// The table of an object with one member, which the value is.
    package init(_ name: String, _ field: Field<Root, Root>) { self.init(name, { $0 }, field) }

    /// The table of a value of two parts, with the members of both.
    package init<First: Described, Second: Described>(
        _ name: String,
        _ make: @escaping @Sendable (First, Second) -> Root,
        _ first: any KeyPath<Root, First> & Sendable,
        _ second: any KeyPath<Root, Second> & Sendable
    ) {
        let (one, other) = (First.fields, Second.fields)
        self.name = name
        self.members = one.members + other.members
        self.make = { (object, place) throws(Schema.Objection) in
            make(try one.make(object, place), try other.make(object, place))
        }
        self.write = { JSONObject(one.write($0[keyPath: first]).members + other.write($0[keyPath: second]).members) }
    }

    /// Returns the table with a validation across members.
    package func refusing(_ objection: @escaping @Sendable (Root) -> Schema.Objection?) -> Self {
        var table = self
        table.make = { [make = self.make] (object, place) throws(Schema.Objection) in
            let root = try make(object, place)
            if let objection = objection(root) { throw place.objection(objection) }
            return root
        }
        return table
    }

    /// Returns the table with rules between members.
    package func stating(_ rules: Schema.MemberRule...) -> Self {
        var table = self
        table.rules += rules
        return table
    }

    /// The table for a struct whose readers ignore unknown members.
    package var tolerant: Self {
        var table = self
        table.isTolerant = true
        return table
    }

    /// The form of the struct, which the API description shows once, under its name.
    package var form: Form<Root> { self.form(.named(self.name, self.schema)) }

    /// The form of a struct that the API description shows inline.
    package var inlined: Form<Root> { self.form(self.schema) }

    private var schema: Schema {
        let object = Schema.object(self.members)
        let ruled = self.rules.isEmpty ? object : .ruled(object, self.rules)
        return self.isTolerant ? .tolerant(ruled) : ruled
    }

    private func form(_ schema: Schema) -> Form<Root> {
        Form(
            schema,
            read: { (value, place) throws(Schema.Objection) in
                guard let object = value.object else { throw place.objection("is not an object", value) }
                return try self.make(object, place)
            },
            write: { .object(self.write($0)) }
        )
    }
}

extension Form where Value: Described {
    /// The form of a described struct.
    package static var described: Self { Value.fields.form }
}

extension Described {
    package static var form: Form<Self> { Self.fields.form }

    package static var schema: Schema { Self.form.schema }

    package init(json: JSONValue) throws(Schema.Objection) { self = try Self.form.read(json) }

    package var json: JSONValue { Self.form.json(self) }
}
