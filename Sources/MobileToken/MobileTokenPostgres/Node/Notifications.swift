import Basics
import Coordination
import MobileToken
import PostgresDatabase

/// An empty message to the other nodes that there are handover requests. It may get lost.
struct Notifications: NotificationSource {
    let channel: String
    private let pool: PostgresPool
    private let clock: ServiceClock

    /// - Parameters:
    ///   - pool: Connections that may receive notifications while idle.
    init(schema: String, pool: PostgresPool, clock: ServiceClock) {
        // A hash, because a schema's name may fill a channel's maximum length. A collision only causes needless notifications.
        let number = OperationsFleet.Buckets.bucket(of: schema, count: .max)
        self.channel = "mobile-token wishes " + String(number, radix: 16)
        self.pool = pool
        self.clock = clock
    }

    func wait(atMost duration: Duration) async throws {
        // The deadline's interrupt leaves the connection intact.
        _ = try await withDeadline(self.clock.now + duration, on: self.clock) { [pool, channel] in
            try await pool.withConnection(isCancelable: true) { connection in
                try connection.listen(to: channel) || connection.waitForNotification(until: .now + .longest)
            }
        }
    }
}
