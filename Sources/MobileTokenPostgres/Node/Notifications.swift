import Basics
import Coordination
import MobileToken
import PostgresDatabase

/// An empty message from one node to the others, which says where to look. It may be lost.
struct Notifications: NotificationSource {
    /// The subject of a notification.
    enum Subject: String {
        case handoverRequests = "wishes"
        case lists
    }

    /// The channel of notifications.
    let channel: String
    private let pool: PostgresPool
    private let clock: ServiceClock

    /// - Parameters:
    ///   - pool: Of connections that may hear something while nobody uses them.
    init(of subject: Subject, schema: String, pool: PostgresPool, clock: ServiceClock) {
        // A schema's name may be as long as a channel's may. Should two have the same channel, they get notifications for nothing.
        let number = OperationsFleet.Buckets.bucket(of: schema, count: .max)
        self.channel = "mobile-token \(subject.rawValue) " + String(number, radix: 16)
        self.pool = pool
        self.clock = clock
    }

    func wait(atMost duration: Duration) async throws {
        // The interrupt that the deadline raises leaves the connection as it is.
        _ = try await withDeadline(self.clock.now + duration, on: self.clock) { [pool, channel] in
            try await pool.withConnection(isCancelable: true) { connection in
                try connection.listen(to: channel) || connection.waitForNotification(until: .now + .longest)
            }
        }
    }
}
