import Basics
import CPostgreSQL

package final class PostgresRows: @unchecked Sendable {
    // Only read until the end. libpq allows reading a result on any number of threads, independently of its connection.
    private let result: OpaquePointer

    init(_ result: OpaquePointer) { self.result = result }

    deinit { PQclear(self.result) }

    package var count: Int { Int(PQntuples(self.result)) }
    package var isEmpty: Bool { self.count == 0 }

    package subscript(row: Int) -> PostgresRow { PostgresRow(rows: self, row: Int32(clamping: row)) }

    package var first: PostgresRow? { self.isEmpty ? nil : self[0] }

    package func map<Element>(_ read: (PostgresRow) throws -> Element) rethrows -> [Element] {
        try (0..<self.count).map { try read(self[$0]) }
    }

    /// The object identifier of a column's type.
    fileprivate func type(_ column: Int32) -> UInt32 { PQftype(self.result, column) }

    fileprivate func bytes(_ row: Int32, _ column: Int32) -> UnsafeRawBufferPointer? {
        guard row >= 0, row < PQntuples(self.result), column >= 0, column < PQnfields(self.result),
            PQgetisnull(self.result, row, column) == 0, let start = PQgetvalue(self.result, row, column)
        else { return nil }
        return UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(self.result, row, column)))
    }
}

/// One row. Columns are numbered from zero; values are copied.
package struct PostgresRow {
    fileprivate let rows: PostgresRows
    fileprivate let row: Int32

    package func isNull(_ column: Int32) -> Bool { self.rows.bytes(self.row, column) == nil }

    /// - Throws: ``PostgresError/Kind/unexpectedResult`` for NULL.
    package func bytes(_ column: Int32) throws(PostgresError) -> [UInt8] {
        guard let bytes = self.rows.bytes(self.row, column) else { throw PostgresError(.unexpectedResult) }
        return Array(bytes)
    }

    /// - Throws: ``PostgresError/Kind/unexpectedResult`` for NULL and invalid UTF-8.
    package func text(_ column: Int32) throws(PostgresError) -> String {
        guard let text = String(validating: try self.bytes(column), as: UTF8.self) else {
            throw PostgresError(.unexpectedResult)
        }
        return text
    }

    /// Reads an `int8` or `int4`.
    ///
    /// - Throws: ``PostgresError/Kind/unexpectedResult`` for NULL and other types.
    package func integer(_ column: Int32) throws(PostgresError) -> Int64 {
        let bytes = try self.bytes(column)
        let integer: Int64? =
            switch self.rows.type(column) {
            case PostgresValue.integerType: Int64(bigEndianBytes: bytes)
            case PostgresValue.shortIntegerType: Int32(bigEndianBytes: bytes).map { Int64($0) }
            default: nil
            }
        guard let integer else { throw PostgresError(.unexpectedResult) }
        return integer
    }

    /// - Throws: ``PostgresError/Kind/unexpectedResult`` for NULL and other types.
    package func boolean(_ column: Int32) throws(PostgresError) -> Bool {
        let bytes = try self.bytes(column)
        guard self.rows.type(column) == PostgresValue.booleanType, let byte = bytes.first else {
            throw PostgresError(.unexpectedResult)
        }
        return byte != 0
    }
}
