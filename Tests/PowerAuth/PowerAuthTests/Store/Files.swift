import CSQLite
import Foundation
import Glibc
import Testing

func mode(of path: String) -> mode_t? {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
}

/// The bytes of a file; none when it is not there. Not for a database that this process has open: closing the
/// descriptor drops SQLite's locks.
func contents(of path: String) -> [UInt8] {
    FileManager.default.contents(atPath: path).map { Array($0) } ?? []
}

/// Runs SQL on a store's database, past all its rules.
func spoil(_ sql: String, at path: String) throws {
    var handle: OpaquePointer?
    try #require(sqlite3_open(path, &handle) == SQLITE_OK)
    defer { sqlite3_close(handle) }
    try #require(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
}
