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
