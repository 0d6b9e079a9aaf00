import Basics
import PostgresDatabase
import PowerAuth

/// A node's lease: the number under which it owns buckets and holds rights to sign, and how long it may rely on it.
///
/// The number is the fence: each swap names it. A lease that was not renewed for too long is deleted, and its node comes back
/// under a greater number; what it held under the old one is nobody's. The page *Deploying nodes* has both takeovers, of buckets
/// and of rights.
package struct NodeLease: Sendable, Equatable {
    package let number: Int64
    /// By this machine's clock, which goes on while it is suspended.
    package var reliableUntil: ContinuousClock.Instant

    package init(number: Int64, reliableUntil: ContinuousClock.Instant) {
        self.number = number
        self.reliableUntil = reliableUntil
    }

    var isReliable: Bool { .now < self.reliableUntil }

    /// The result of a heartbeat.
    package struct Heartbeat: Sendable {
        /// `nil` when the lease was taken away.
        let lease: NodeLease?
        /// The activations which this node may sign with and another one waits for.
        let handoverRequests: [String]

        package init(lease: NodeLease?, handoverRequests: [String]) {
            self.lease = lease
            self.handoverRequests = handoverRequests
        }
    }
}

extension NodeLease {
    /// Takes a lease.
    ///
    /// Numbers follow the database's clock, in microseconds, so that they grow even when the database was put back to a state in
    /// which the latest ones had not been given; and each is greater than the one before, so that they grow even when the
    /// clock was put back. Where both happened, nothing tells how far they had come: there, a number is drawn by chance, since two
    /// nodes with one number would renew each other's lease, and sign beside each other.
    ///
    /// - Parameter epoch: The epoch whose quarantine is over. A node may have stood still since it looked.
    /// - Returns: `nil` when another epoch has begun.
    static func take(
        name: String,
        reading newestFormat: RecordFormat,
        in epoch: DatabaseEpoch.Identity,
        _ lifetimes: NodeLifetimes,
        _ connection: PostgresConnection
    ) throws -> NodeLease? {
        let sentAt = ContinuousClock.now
        let clock = "(extract(epoch FROM clock_timestamp()) * 1000000)::int8"
        // No epoch begins between the look and the lease.
        let results = try connection.run([
            DatabaseEpoch.lock,
            PostgresStatement(
                """
                WITH next AS (
                    UPDATE fence SET last = CASE WHEN last < \(clock) THEN \(clock)
                        ELSE last + 1 + (random() * 4294967295)::int8 END
                    WHERE \(DatabaseEpoch.isCurrent("$4")) AND \(DatabaseEpoch.isSame("$4", "$5")) RETURNING last
                )
                INSERT INTO node (number, name, expires_at, newest_format)
                SELECT last, $1, clock_timestamp() + $2 * interval '1 millisecond', $3 FROM next
                RETURNING number
                """,
                [
                    .text(name), .integer(lifetimes.death.wholeMilliseconds), .integer(newestFormat.rawValue),
                    .integer(epoch.number), .integer(epoch.begun),
                ]
            ),
        ])
        guard let row = results.last?.first else { return nil }
        return NodeLease(number: try row.integer(0), reliableUntil: sentAt + lifetimes.reliance)
    }

    /// Renews a lease, and takes away those of nodes that were silent for too long. In another epoch of the database it is lost,
    /// as all are.
    ///
    /// Whoever deletes a lease waits for a heartbeat that is under way, and finds it renewed, or deletes it before, and the
    /// heartbeat finds nothing. So a lease is there or gone, whatever reads it.
    func renew(_ lifetimes: NodeLifetimes, _ connection: PostgresConnection) throws -> Heartbeat {
        let sentAt = ContinuousClock.now
        let results = try connection.run([
            DatabaseEpoch.isKnown,
            PostgresStatement(
                """
                UPDATE node SET expires_at = clock_timestamp() + $2 * interval '1 millisecond'
                WHERE number = $1 AND expires_at > clock_timestamp() RETURNING number
                """,
                [.integer(self.number), .integer(lifetimes.death.wholeMilliseconds)]
            ),
            Self.sweep(lifetimes),
            PostgresStatement(
                """
                SELECT DISTINCT activation_id FROM wish JOIN activation USING (slot) WHERE holder = $1
                """,
                [.integer(self.number)]
            ),
        ])
        guard results.count == 4, let epoch = results[0].first else { throw PostgresError(.unexpectedResult) }
        guard try epoch.boolean(0) else {
            try DatabaseEpoch.check(connection)
            return Heartbeat(lease: nil, handoverRequests: [])
        }
        let isRenewed = !results[1].isEmpty
        return Heartbeat(
            lease: isRenewed ? NodeLease(number: self.number, reliableUntil: sentAt + lifetimes.reliance) : nil,
            handoverRequests: try results[3].map { try $0.text(0) }
        )
    }

    /// Gives a lease back, with all rights that are held under it.
    func leave(_ connection: PostgresConnection) throws {
        try connection.run("DELETE FROM node WHERE number = $1", [.integer(self.number)])
    }

    /// Takes away the leases of nodes that were silent for too long.
    ///
    /// A lease that lasts for longer than any heartbeat makes it last is of a time before the database's clock was put back. From
    /// now on it has one lifetime, in which its node, if that is alive, renews it.
    static func sweep(_ lifetimes: NodeLifetimes) -> PostgresStatement {
        PostgresStatement(
            """
            WITH bounded AS (
                UPDATE node SET expires_at = clock_timestamp() + $1 * interval '1 millisecond'
                WHERE expires_at > clock_timestamp() + 2 * $1 * interval '1 millisecond'
            )
            DELETE FROM node WHERE expires_at <= clock_timestamp()
            """,
            [.integer(lifetimes.death.wholeMilliseconds)]
        )
    }
}

extension Duration {
    var wholeMilliseconds: Int64 { Int64(saturating: self / .milliseconds(1)) }
}
