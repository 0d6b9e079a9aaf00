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
