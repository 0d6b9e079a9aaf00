import CSQLite
import Glibc

/// Creates database files. SQLite itself would create them with the permissions of the umask.
enum DatabaseFile {
    /// Creates an empty file, unless the path exists.
    static func create(_ path: String, permissions: UInt32) throws(SQLiteError) {
        guard access(path, F_OK) != 0 else { return }
        let temporary = "\(path).\(String(UInt64.random(in: .min ... .max), radix: 36)).new"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, permissions)
        guard descriptor >= 0 else { throw SQLiteError(SQLITE_CANTOPEN) }
        defer { unlink(temporary) }
        let isPermitted = fchmod(descriptor, permissions) == 0
        let failure = SQLiteError(SQLITE_CANTOPEN)
        // Before the file has its name: closing a database's descriptor drops the locks that SQLite holds on it elsewhere in the
        // process.
        close(descriptor)
        guard isPermitted else { throw failure }
        guard link(temporary, path) == 0 || errno == EEXIST else { throw SQLiteError(SQLITE_CANTOPEN) }
    }
}
