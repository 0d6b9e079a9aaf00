import Basics
import Coordination
import PowerAuth

extension OperationsFleet {
    /// Decides on operations of an activation, provided that this process polls it.
    ///
    /// Of several processes only the one that polls an activation should decide without a person. While `body` runs, the
    /// activation is not given to another process, and a fleet that is stopped waits for it. A process that stood still meanwhile, and
    /// has lost the activation, signs no decision any more.
    ///
    /// ```swift
    /// try await fleet.withDecision(on: news.activationID) { operations in
    ///     try await operations.reject(operation)
    /// }
    /// ```
    ///
    /// - Returns: The result of `body`.
    /// - Throws: ``MobileTokenError/Code/notPolledHere`` before anything is decided, also from `body`; what ended the activation; what
    ///   `body` throws.
    public func withDecision<Result: Sendable>(
        on activationID: String,
        _ body: @Sendable (OperationsService) async throws -> Result
    ) async throws -> Result {
        let id = ExactString(activationID)
        let membership = self.configuration.membership
        let bucket = OperationsFleet.Buckets.bucket(of: activationID, count: membership.bucketCount)
        guard let member = self.members[id], member.isOurs, membership.holds(bucket), let service = member.service
        else {
            throw MobileTokenError.notPolledHere
        }
        if member.state.phase.isEnded, let reason = member.state.reason { throw reason }
        let decisions = self.decisions[bucket] ?? Drain()
        self.decisions[bucket] = decisions
        decisions.begin()
        defer {
            decisions.end()
            if decisions.count == 0 { self.decisions[bucket] = nil }
        }
        let right = DecisionRight { guard membership.holds(bucket) else { throw MobileTokenError.notPolledHere } }
        return try await DecisionRight.$current.withValue(right) { try await body(service) }
    }
}

extension MobileTokenError {
    static var notPolledHere: Self { Self(.notPolledHere, "This process does not poll the activation") }
}
