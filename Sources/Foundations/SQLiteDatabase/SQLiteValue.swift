import CSQLite

package enum SQLiteValue: Sendable, Equatable {
    case null
    case integer(Int64)
    case text(String)
    case blob([UInt8])

    /// Binds a copy of the value, and returns SQLite's result code.
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        switch self {
        case .null:
            sqlite3_bind_null(statement, index)
        case .integer(let integer):
            sqlite3_bind_int64(statement, index, integer)
        case .text(let string):
            Self.bind(string, to: statement, at: index)
        case .blob(let bytes):
            // A null pointer would bind NULL, so an empty array is bound differently.
            bytes.isEmpty
                ? sqlite3_bind_zeroblob(statement, index, 0)
                : sqlite3_bind_blob64(statement, index, bytes, UInt64(bytes.count), CSQLite_TRANSIENT())
        }
    }

    /// Binds a string with its length, because it may contain NUL.
    private static func bind(_ string: String, to statement: OpaquePointer, at index: Int32) -> Int32 {
        var string = string
        return string.withUTF8 { bytes in
            // A null pointer would bind NULL, so an empty string is bound differently.
            guard let address = bytes.baseAddress else {
                return sqlite3_bind_text(statement, index, "", 0, CSQLite_TRANSIENT())
            }
            let count = UInt64(bytes.count)
            return address.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
                sqlite3_bind_text64(statement, index, $0, count, CSQLite_TRANSIENT(), UInt8(SQLITE_UTF8))
            }
        }
    }
}
