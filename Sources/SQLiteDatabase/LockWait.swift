import CSQLite
import Glibc

/// The wait of a connection for a lock that another one holds.
///
/// SQLite's own timeout waits in steps of up to 100 ms. A commit takes less than one, so this one sleeps 0.1 ms at first
/// and never more than 5 ms.
struct LockWait {
    /// The number of attempts that the timeout has room for.
    private let attemptLimit: Int

    init(timeout: Duration) {
        let longSleeps = max(.zero, min(timeout, .seconds(3_600))) / .milliseconds(5)
        self.attemptLimit = Int(longSleeps.rounded(.up))
    }

    /// Lets a connection wait before each further attempt.
    func install(on handle: OpaquePointer) {
        // The limit travels as the address that SQLite hands back; none means not to wait.
        let limit = UnsafeMutableRawPointer(bitPattern: self.attemptLimit)
        sqlite3_busy_handler(handle, { LockWait.sleep(before: Int($1), limit: Int(bitPattern: $0)) ? 1 : 0 }, limit)
    }

    /// Repeats what SQLite refuses at once when others have the file locked.
    func retrying(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        var attempt = 0
        while true {
            do throws(SQLiteError) {
                return try body()
            } catch {
                guard error.kind == .busy, Self.sleep(before: attempt, limit: self.attemptLimit) else { throw error }
                attempt += 1
            }
        }
    }

    /// Returns `false` at once when there is no further attempt.
    private static func sleep(before attempt: Int, limit: Int) -> Bool {
        guard attempt < limit else { return false }
        usleep(attempt < 6 ? 100 << UInt32(attempt) : 5_000)
        return true
    }
}
