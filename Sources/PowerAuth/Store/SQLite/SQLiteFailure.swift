internal import CSQLite
internal import Glibc

/// A call to SQLite that failed: its result code, and the system's own when there was one.
struct SQLiteFailure: Error, CustomStringConvertible {
    /// An extended result code.
    let status: Int32
    let systemError: Int32

    /// Makes a failure of the call that has just returned; reads `errno`.
    init(_ status: Int32) {
        self.status = status
        // SQLite's own note of it, `sqlite3_system_errno`, is not kept when it is a commit that fails.
        self.systemError = [SQLITE_IOERR, SQLITE_CANTOPEN].contains(status & 0xFF) ? errno : 0
    }

    /// SQLite's and the system's fixed strings for the codes, which quote no statement and no value.
    var description: String {
        let text = sqlite3_errstr(self.status).map { String(cString: $0) } ?? "unknown error"
        let cause = self.systemError == 0 ? "" : " (\(String(cString: strerror(self.systemError))))"
        return "SQLite \(self.status): \(text)\(cause)"
    }

    /// What the failure means to the user of a store.
    var code: MobileTokenError.Code {
        switch self.status & 0xFF {
        case SQLITE_FULL: .storeFull
        case SQLITE_READONLY: .storeReadOnly
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT: .storeCorrupted
        case SQLITE_BUSY, SQLITE_LOCKED: .storeBusy
        case SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_PERM:
            switch self.systemError {
            case ENOSPC, EDQUOT, EFBIG: .storeFull
            case EROFS, EACCES, EPERM: .storeReadOnly
            default: .storeUnreadable
            }
        // The schema is ours: a statement that does not fit it, or a broken constraint, means a damaged file.
        case SQLITE_ERROR, SQLITE_CONSTRAINT, SQLITE_SCHEMA, SQLITE_MISMATCH: .storeCorrupted
        default: .storeUnreadable
        }
    }
}

extension MobileTokenError {
    init(_ failure: SQLiteFailure, path: String) {
        self.init(failure.code, "\(path): \(failure)", underlying: failure)
    }
}
