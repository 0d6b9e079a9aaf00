import CSQLite
import Glibc

/// A failed call to SQLite: its result code and the system's. The description contains no statements and values, so it may be
/// logged.
package struct SQLiteError: Error, Equatable, CustomStringConvertible {
    /// The kinds of failure that callers distinguish.
    package enum Kind: Sendable {
        /// The disk, quota or size limit is reached.
        case full
        /// The file or file system is read-only.
        case readOnly
        /// Another connection held a lock for longer than the timeout.
        case busy
        /// The file is damaged or not a database.
        case corrupted
        /// A row violates a constraint, such as a unique key.
        case constraint
        /// The statement does not match the database, or the values do not match the statement.
        case statement
        /// The file cannot be opened, read or written for another reason.
        case other
    }

    package let extendedCode: Int32
    /// The `errno` of the failure, or 0.
    package let systemError: Int32

    /// Creates the error of the call that just returned; reads `errno`.
    init(_ extendedCode: Int32) {
        // SQLite's `sqlite3_system_errno` is not kept when a commit fails.
        let isOfSystem = [SQLITE_IOERR, SQLITE_CANTOPEN].contains(extendedCode & 0xFF)
        self.init(extendedCode, systemError: isOfSystem ? errno : 0)
    }

    init(_ extendedCode: Int32, systemError: Int32) {
        self.extendedCode = extendedCode
        self.systemError = systemError
    }

    package var kind: Kind {
        switch self.extendedCode & 0xFF {
        case SQLITE_FULL: .full
        case SQLITE_READONLY: .readOnly
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT: .corrupted
        case SQLITE_BUSY, SQLITE_LOCKED: .busy
        case SQLITE_CONSTRAINT: .constraint
        case SQLITE_ERROR, SQLITE_SCHEMA, SQLITE_MISMATCH, SQLITE_RANGE: .statement
        case SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_PERM:
            switch self.systemError {
            case ENOSPC, EDQUOT, EFBIG: .full
            case EROFS, EACCES, EPERM: .readOnly
            default: .other
            }
        default: .other
        }
    }

    /// The fixed texts of SQLite and the system for the codes.
    package var description: String {
        let text = sqlite3_errstr(self.extendedCode).map { String(cString: $0) } ?? "unknown error"
        let cause = self.systemError == 0 ? "" : " (\(String(cString: strerror(self.systemError))))"
        return "SQLite \(self.extendedCode): \(text)\(cause)"
    }
}
