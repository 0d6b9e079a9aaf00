import PowerAuth

extension ApprovalAgent {
    /// Settings of an agent.
    public struct Configuration: Sendable {
        /// The name of the policy in receipts: `policy` by default.
        public var policyName = "policy"
        /// The version of the policy in receipts, such as a commit: none by default.
        public var policyVersion = ""
        /// The most operations that are worked on at once: 16 by default. Of one activation it is never more than one.
        public var maximumConcurrency = 16
        /// The deadline of the policy: 30 s by default. Then the operation is left to people, and the policy's task canceled. Factors that
        /// are not unlocked within the same time are asked for again later.
        public var policyDeadline: Duration = .seconds(30)
        /// Asks the policy about operations that are not complete as well, which it is not by default. Look at
        /// ``OperationReview/doubts`` then.
        public var reviewsIncomplete = false
        /// The time after which an unlocked factor is wiped, and unlocked again when it is needed: 15 min by default. Zero
        /// keeps none.
        public var factorLifetime: Duration = .seconds(15 * 60)
        /// The time that a canceled agent gives decisions on their way: 25 s by default.
        public var gracePeriod: Duration = .seconds(25)
        /// Asks the history what became of a decision when nothing else tells, which is not done by default. That takes a
        /// signature, and servers return the latest hundred operations.
        public var asksHistory = false
        /// Signs what it approves with the device's own key too, which is not done by default: see
        /// ``OperationsService/signedByDevice(_:with:)``. That takes possession and knowledge, and one more request for each approval.
        public var signsByDevice = false
        /// Numbers in 0..<1 that spread retries.
        package var random: @Sendable () -> Double = { .random(in: 0..<1) }

        /// Creates a configuration with the documented defaults.
        public init() {}

        /// - Parameter requestTimeout: The time for which a request that was sent may still reach the server.
        func limits(requestTimeout: Duration) -> AgentSupervision.Limits {
            var limits = AgentSupervision.Limits()
            limits.maximumConcurrency = self.maximumConcurrency
            limits.policyDeadline = self.policyDeadline
            limits.requestTimeout = requestTimeout
            limits.reviewsIncomplete = self.reviewsIncomplete
            return limits
        }

        var policy: DecisionIntent.Policy { .init(name: self.policyName, version: self.policyVersion) }
    }
}
