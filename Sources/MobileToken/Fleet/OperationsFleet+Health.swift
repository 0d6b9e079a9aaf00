import Basics
import PowerAuth

extension OperationsFleet {
    /// The state of the fleet, to answer a health check with. Nothing is asked for.
    public var health: FleetHealth {
        let now = self.now
        var health = FleetHealth()
        health.isRunning = self.isRunning
        for member in self.members.values {
            guard member.isOurs else {
                health.elsewhereCount += 1
                continue
            }
            health.counts[member.state.phase, default: 0] += 1
            guard member.state.phase == .active, let success = member.service?.poller.condition.lastSuccess else {
                continue
            }
            health.oldestSuccessfulPoll = max(health.oldestSuccessfulPoll ?? .zero, now - success)
        }
        for (client, gate) in zip(self.clients, self.gateIndices) {
            health.clockSkews[self.origins[gate]] = client.clockSkew ?? health.clockSkews[self.origins[gate]]
        }
        if let evidence = self.only?.channel.evidence?.source {
            health.clockSkews[evidence.serverOrigin] = evidence.clockSkew
        }
        for (origin, gate) in zip(self.origins, self.gates) { health.heldBack[origin] = gate.heldBackFor }
        health.clockSkewThreshold = self.configuration.clockSkewThreshold
        health.lastFailure = self.lastFailure?.seen(at: now)
        health.decisionsInFlight = self.decisions.values.reduce(0, +)
        health.decisionsUnknown = self.unknownDecisionCount
        return health
    }

    /// Sets how many decisions were sent of which nobody knows what became.
    package func setUnknownDecisionCount(_ count: Int) { self.unknownDecisionCount = count }
}

// MARK: Deciding

extension OperationsFleet {
    /// Decides on operations of an activation, provided that this process polls it.
    ///
    /// Of several processes only the one that polls an activation should decide without a person. While `body` runs, the
    /// activation is not given to another process, and a fleet that is stopped waits for it.
    ///
    /// ```swift
    /// try await fleet.withDecision(on: news.activationID) { operations in
    ///     try await operations.reject(operation)
    /// }
    /// ```
    ///
    /// - Returns: The result of `body`.
    /// - Throws: ``MobileTokenError/Code/notPolledHere`` before anything is decided; what ended the activation; what `body`
    ///   throws.
    public func withDecision<Result: Sendable>(
        on activationID: String,
        _ body: @Sendable (OperationsService) async throws -> Result
    ) async throws -> Result {
        let id = ExactString(activationID)
        let membership = self.configuration.membership
        let bucket = FleetBuckets.bucket(of: activationID, count: membership.bucketCount)
        guard let member = self.members[id], member.isOurs, membership.holds(bucket), let service = member.service
        else {
            throw MobileTokenError.notPolledHere
        }
        if member.state.phase.isEnded, let reason = member.state.reason { throw reason }
        self.decisions[bucket, default: 0] += 1
        defer { self.decisionEnded(in: bucket) }
        return try await body(service)
    }

    private func decisionEnded(in bucket: Int) {
        let count = (self.decisions[bucket] ?? 1) - 1
        self.decisions[bucket] = count > 0 ? count : nil
        let waiters = self.decisionWaiters
        self.decisionWaiters = []
        for waiter in waiters { waiter.resume() }
    }
}

extension MobileTokenError {
    static var notPolledHere: Self { Self(.notPolledHere, "This process does not poll the activation") }
}
