import CSQLite
import Glibc

/// A connection's wait for another one's lock. SQLite's own timeout waits in steps of up to 100 ms. A commit takes less than one,
/// so this waits 0.1 ms at first and 5 ms at most.
struct LockWait {
    /// The number of attempts within the timeout.
    private let attemptLimit: Int

    init(timeout: Duration) {
        let longSleeps = max(.zero, min(timeout, .seconds(3_600))) / .milliseconds(5)
        self.attemptLimit = Int(longSleeps.rounded(.up))
    }

    /// Installs the wait in a connection.
    func install(on handle: OpaquePointer) {
        // The limit is passed as the address that SQLite returns; `nil` means no waiting.
        let limit = UnsafeMutableRawPointer(bitPattern: self.attemptLimit)
        sqlite3_busy_handler(handle, { LockWait.sleep(before: Int($1), limit: Int(bitPattern: $0)) ? 1 : 0 }, limit)
    }

    /// Retries operations that SQLite refuses at once while the file is locked.
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

    /// Returns `false` at once if no attempts are left.
    private static func sleep(before attempt: Int, limit: Int) -> Bool {
        guard attempt < limit else { return false }
        usleep(attempt < 6 ? 100 << UInt32(attempt) : 5_000)
        return true
    }
}
