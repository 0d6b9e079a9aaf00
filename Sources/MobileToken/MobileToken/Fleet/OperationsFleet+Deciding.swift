import Basics
import Coordination
import PowerAuthClient

extension OperationsFleet {
    /// Decides on operations of an activation, provided that this process polls it.
    ///
    /// Only the process that polls an activation should decide without a person. While `body` runs, the activation is not given
    /// to another process, and a stopping fleet waits for it. A process that was suspended and has lost the activation meanwhile
    /// signs no more decisions.
    ///
    /// ```swift
    /// try await fleet.withDecision(on: news.activationID) { operations in
    ///     try await operations.reject(operation)
    /// }
    /// ```
    ///
    /// - Returns: The result of `body`.
    /// - Throws:
    ///   ``MobileTokenError/Code/notPolledHere`` before anything is decided, also from `body`; the error that ended the activation; errors of `body`.
    public func withDecision<Result: Sendable>(
        on activationID: String,
        _ body: @Sendable (OperationsService) async throws -> Result
    ) async throws -> Result {
        try await self.withDecision(on: activationID, waits: { _ in }, body)
    }

    /// Decides, and reports when a signature starts waiting for an earlier decision.
    func withDecision<Result: Sendable>(
        on activationID: String,
        waits: @escaping @Sendable (Duration) async -> Void,
        _ body: @Sendable (OperationsService) async throws -> Result
    ) async throws -> Result {
        let id = ExactString(activationID)
        let membership = self.configuration.division
        let bucket = OperationsFleet.Buckets.bucket(of: activationID, count: membership.bucketCount)
        guard let member = self.members[id], member.isOurs, membership.holds(bucket), let service = member.service
        else {
            throw MobileTokenError.notPolledHere
        }
        if member.state.phase.isEnded, let reason = member.state.reason { throw reason }
        let decisions = self.standing.decisions[bucket] ?? Drain()
        self.standing.decisions[bucket] = decisions
        decisions.begin()
        defer {
            decisions.end()
            if decisions.count == 0 { self.standing.decisions[bucket] = nil }
        }
        let right = DecisionRight(
            check: { guard membership.holds(bucket) else { throw MobileTokenError.notPolledHere } },
            waits: waits
        )
        return try await DecisionRight.$current.withValue(right) { try await body(service) }
    }
}

extension MobileTokenError {
    static var notPolledHere: Self { Self(.notPolledHere, "This process does not poll the activation") }
}
