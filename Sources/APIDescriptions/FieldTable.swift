import Basics
package import ExactJSON

/// A struct that has a table of its fields.
package protocol Described: Sendable {
    static var fields: FieldTable<Self> { get }
}

/// A field whose type is known to the caller alone.
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

/// All members of a struct: reading, refusal, JSON and the description of the API follow from it.
///
/// ```swift
/// static let fields = FieldTable(
///     "TemporaryBlock",
///     TemporaryBlock.init(seconds:),
///     .optional("seconds", \.seconds, .number, "The time after which the block ends by itself.")
/// )
/// ```
package struct FieldTable<Root: Sendable>: Sendable {
    /// The name in the description of the API.
    package let name: String
    package let members: [Schema.Member]
    private var isTolerant = false
    private var rules: [Schema.MemberRule] = []
    private var make: @Sendable (JSONObject, Schema.Place) throws(Schema.Objection) -> Root
    private let write: @Sendable (Root) -> JSONObject

    /// - Parameters:
    ///   - name: The name in the description of the API.
    ///   - make: Makes a value of its members, in the order of `fields`; objects to those that do not go together.
    ///   - fields: All members.
    package init<each Value: Sendable>(
        _ name: String,
        _ make: @escaping @Sendable (repeat each Value) throws(Schema.Objection) -> Root,
        _ fields: repeat Field<Root, each Value>
    ) {
        self.name = name
        var members: [Schema.Member] = []
        // By index, and without the types: to walk the fields themselves, the runtime looks up the type of each, each time.
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

    /// The same table, which refuses what no single member shows to be wrong.
    package func refusing(_ objection: @escaping @Sendable (Root) -> Schema.Objection?) -> Self {
        var table = self
        table.make = { [make = self.make] (object, place) throws(Schema.Objection) in
            let root = try make(object, place)
            if let objection = objection(root) { throw place.objection(objection) }
            return root
        }
        return table
    }

    /// The same table, whose members follow rules together.
    package func stating(_ rules: Schema.MemberRule...) -> Self {
        var table = self
        table.rules += rules
        return table
    }

    /// The same table, of a struct whose readers ignore members that they do not know.
    package var tolerant: Self {
        var table = self
        table.isTolerant = true
        return table
    }

    /// The form of the struct, which the description of the API shows once, under its name.
    package var form: Form<Root> { self.form(.named(self.name, self.schema)) }

    /// The form of a struct that the description of the API shows where it stands.
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
    /// The form that the table of a struct's fields says.
    package static var described: Self { Value.fields.form }
}

extension Described {
    package static var form: Form<Self> { Self.fields.form }

    package static var schema: Schema { Self.form.schema }

    package init(json: JSONValue) throws(Schema.Objection) { self = try Self.form.read(json) }

    package var json: JSONValue { Self.form.json(self) }
}
