import Coordination
import PowerAuth
import Synchronization

extension OperationsFleet {
    /// The state of the fleet, to answer a health check with. Nothing is asked for.
    ///
    /// Reading it waits for nothing.
    public nonisolated var health: OperationsFleet.Health {
        let now = self.now
        let standing = self.shown.withLock { $0 }
        var health = OperationsFleet.Health()
        health.isRunning = standing.isRunning
        for member in self.members.all.values {
            guard member.isOurs else {
                health.elsewhereCount += 1
                continue
            }
            let phase = member.state.phase
            health.counts[phase, default: 0] += 1
            guard let condition = member.service?.poller.condition else { continue }
            health.unreadable += condition.unreadableCount
            guard phase == .active, let success = condition.lastSuccess else { continue }
            health.oldestSuccessfulPoll = max(health.oldestSuccessfulPoll ?? .zero, now - success)
        }
        for (client, limiter) in zip(self.clients, self.limiterIndices) {
            health.clockSkews[self.origins[limiter]] = client.clockSkew ?? health.clockSkews[self.origins[limiter]]
        }
        if let evidence = self.only?.channel.evidence?.source {
            health.clockSkews[evidence.serverOrigin] = evidence.clockSkew
        }
        for (origin, limiter) in zip(self.origins, self.limiters) { health.heldBack[origin] = limiter.heldBackFor }
        health.clockSkewThreshold = self.configuration.clockSkewThreshold
        health.lastFailure = standing.lastFailure?.seen(at: now)
        health.decisionsInFlight = standing.decisions.values.reduce(0) { $0 + $1.count }
        return health
    }
}
