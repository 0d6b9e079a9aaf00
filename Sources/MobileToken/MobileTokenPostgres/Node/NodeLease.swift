/// A node's lease: the number under which it owns buckets and rights to sign, and the limit of its reliance. The number is the
/// fence in each swap. An expired lease is deleted, and its node returns with a greater number; its former buckets and rights are
/// free. See *Deploying nodes* for takeovers.
package struct NodeLease: Sendable, Equatable {
    package let number: Int64
    /// By this machine's clock, which includes suspensions.
    package var reliableUntil: ContinuousClock.Instant

    package init(number: Int64, reliableUntil: ContinuousClock.Instant) {
        self.number = number
        self.reliableUntil = reliableUntil
    }

    var isReliable: Bool { .now < self.reliableUntil }

    package struct Heartbeat: Sendable {
        /// `nil` if the lease was deleted.
        let lease: NodeLease?
        /// This node's activations that another node requests.
        let handoverRequests: [String]

        package init(lease: NodeLease?, handoverRequests: [String]) {
            self.lease = lease
            self.handoverRequests = handoverRequests
        }
    }
}
