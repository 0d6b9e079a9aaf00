import Basics

/// A parameter of a statement. Parameters and results are in PostgreSQL's binary form.
package enum PostgresValue: Sendable, Equatable {
    case null
    case boolean(Bool)
    case integer(Int64)
    /// `text`. PostgreSQL refuses NUL in it.
    case text(String)
    case bytes([UInt8])
    case integers([Int64])
    case texts([String])
    /// `bytea[]` with possible NULLs
    case byteStrings([[UInt8]?])
    case booleans([Bool])

    /// Creates NULL from `nil`.
    package init(_ value: Int64?) { self = if let value { .integer(value) } else { .null } }

    /// Creates NULL from `nil`.
    package init(_ value: String?) { self = if let value { .text(value) } else { .null } }

    /// Creates NULL from `nil`.
    package init(_ value: [UInt8]?) { self = if let value { .bytes(value) } else { .null } }

    /// The type's fixed object identifier; 0 leaves it to the server.
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
    /// `int4`, for reading only.
    static let shortIntegerType: UInt32 = 23
    private static let textType: UInt32 = 25

    /// The binary form; `nil` for NULL.
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

    /// One dimension: a flag for NULLs, the type, the count, the first index; then the elements with length prefixes.
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

/// A statement with values for its parameters `$1`, `$2` and so on. Pass variable data as values: a connection prepares each
/// string once.
package struct PostgresStatement: Sendable {
    package let sql: String
    package let values: [PostgresValue]

    package init(_ sql: String, _ values: [PostgresValue] = []) {
        self.sql = sql
        self.values = values
    }
}
