import CSQLite
import Glibc

/// A call to SQLite that failed: its result code, and the system's own if there was one.
///
/// The description quotes no statement and no value, so it may be logged.
package struct SQLiteError: Error, Equatable, CustomStringConvertible {
    /// The kind of failure, as far as a caller needs to tell them apart.
    package enum Kind: Sendable {
        /// The disk, the quota or the database's size limit is reached.
        case full
        /// The file, or the file system, may not be written.
        case readOnly
        /// Another connection held a lock for longer than the timeout.
        case busy
        /// The file is damaged, or no database.
        case corrupted
        /// A row breaks a constraint, such as a unique key.
        case constraint
        /// The statement does not fit the database, or its values do not fit the statement.
        case statement
        /// The file cannot be opened, read or written for another reason.
        case other
    }

    /// SQLite's extended result code.
    package let extendedCode: Int32
    /// The `errno` of the failure, or 0.
    package let systemError: Int32

    /// Makes the error of the call that has just returned; reads `errno`.
    init(_ extendedCode: Int32) {
        // SQLite's own note of it, `sqlite3_system_errno`, is not kept when it is a commit that fails.
        let isOfSystem = [SQLITE_IOERR, SQLITE_CANTOPEN].contains(extendedCode & 0xFF)
        self.init(extendedCode, systemError: isOfSystem ? errno : 0)
    }

    init(_ extendedCode: Int32, systemError: Int32) {
        self.extendedCode = extendedCode
        self.systemError = systemError
    }

    /// The kind of failure.
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

    /// SQLite's and the system's fixed strings for the codes.
    package var description: String {
        let text = sqlite3_errstr(self.extendedCode).map { String(cString: $0) } ?? "unknown error"
        let cause = self.systemError == 0 ? "" : " (\(String(cString: strerror(self.systemError))))"
        return "SQLite \(self.extendedCode): \(text)\(cause)"
    }
}
