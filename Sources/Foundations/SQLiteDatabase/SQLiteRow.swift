import CSQLite

/// The current row of a query. Values are copied. Columns are numbered from zero. NULL reads as zero or empty; see
/// ``isNull(_:)``.
package struct SQLiteRow: ~Copyable {
    let statement: OpaquePointer

    package func isNull(_ column: Int32) -> Bool {
        sqlite3_column_type(self.statement, column) == SQLITE_NULL
    }

    package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(self.statement, column) }

    package func text(_ column: Int32) -> String {
        guard let text = sqlite3_column_text(self.statement, column) else { return "" }
        let count = Int(sqlite3_column_bytes(self.statement, column))
        return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    package func blob(_ column: Int32) -> [UInt8] {
        guard let bytes = sqlite3_column_blob(self.statement, column) else { return [] }
        return Array(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(self.statement, column))))
    }
}
