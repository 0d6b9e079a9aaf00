import Basics

/// A value for a parameter of a statement. All travel in PostgreSQL's binary form, results as well.
package enum PostgresValue: Sendable, Equatable {
    case null
    /// `bool`
    case boolean(Bool)
    /// `int8`
    case integer(Int64)
    /// `text`. PostgreSQL stores no NUL within it, and refuses one.
    case text(String)
    /// `bytea`
    case bytes([UInt8])
    /// `int8[]`
    case integers([Int64])
    /// `text[]`
    case texts([String])
    /// `bytea[]`, with NULL among them
    case byteStrings([[UInt8]?])
    /// `bool[]`
    case booleans([Bool])

    /// Makes NULL of `nil`.
    package init(_ value: Int64?) { self = if let value { .integer(value) } else { .null } }

    /// Makes NULL of `nil`.
    package init(_ value: String?) { self = if let value { .text(value) } else { .null } }

    /// Makes NULL of `nil`.
    package init(_ value: [UInt8]?) { self = if let value { .bytes(value) } else { .null } }

    /// The object identifier of the type, fixed since PostgreSQL's beginnings; 0 leaves it to the server.
    var type: UInt32 {
        switch self {
        case .null: 0
        case .boolean: Self.booleanType
        case .integer: Self.integerType
        case .text: Self.textType
        case .bytes: Self.bytesType
        case .integers: 1016
        case .texts: 1009
        case .byteStrings: 1001
        case .booleans: 1000
        }
    }

    static let booleanType: UInt32 = 16
    private static let bytesType: UInt32 = 17
    static let integerType: UInt32 = 20
    /// `int4`, which is only read.
    static let shortIntegerType: UInt32 = 23
    private static let textType: UInt32 = 25

    /// The binary form; `nil` is NULL.
    var encoded: [UInt8]? {
        switch self {
        case .null: nil
        case .boolean(let value): [value ? 1 : 0]
        case .integer(let value): value.bigEndianBytes
        case .text(let value): Array(value.utf8)
        case .bytes(let value): value
        case .integers(let values): Self.array(of: Self.integerType, values.map(\.bigEndianBytes))
        case .texts(let values): Self.array(of: Self.textType, values.map { Array($0.utf8) })
        case .byteStrings(let values): Self.array(of: Self.bytesType, values)
        case .booleans(let values): Self.array(of: Self.booleanType, values.map { [$0 ? 1 : 0] })
        }
    }

    /// One dimension: whether there are NULLs, the type, the count, the first index; then each element after its length.
    private static func array(of type: UInt32, _ elements: [[UInt8]?]) -> [UInt8] {
        let hasNull = elements.contains { $0 == nil }
        var bytes = Int32(elements.isEmpty ? 0 : 1).bigEndianBytes + Int32(hasNull ? 1 : 0).bigEndianBytes
        bytes += type.bigEndianBytes
        guard !elements.isEmpty else { return bytes }
        bytes += Int32(clamping: elements.count).bigEndianBytes + Int32(1).bigEndianBytes
        for element in elements {
            bytes += Int32(clamping: element?.count ?? -1).bigEndianBytes
            bytes += element ?? []
        }
        return bytes
    }
}

/// A statement, and the values of its parameters `$1`, `$2` and so on.
///
/// What varies goes into the values: a connection prepares each string once, and keeps it.
package struct PostgresStatement: Sendable {
    package let sql: String
    package let values: [PostgresValue]

    package init(_ sql: String, _ values: [PostgresValue] = []) {
        self.sql = sql
        self.values = values
    }
}
