import PowerAuth

extension ApprovalAgent {
    /// What an agent can be given besides its operations, its factors and its policy.
    public struct Configuration: Sendable {
        /// What receipts call the policy: `policy` by default.
        public var policyName = "policy"
        /// Which version of the policy it is, such as a commit: none by default. Stands in the receipts.
        public var policyVersion = ""
        /// How many operations are worked on at once: 16 by default. Of one activation it is never more than one.
        public var maximumConcurrency = 16
        /// How long the policy may take: 30 s by default. Then the operation is left to people, and the policy's task canceled.
        public var policyDeadline: Duration = .seconds(30)
        /// Whether the policy is asked about operations that are not complete: no by default. Look at
        /// ``OperationReview/doubts`` then.
        public var reviewsIncomplete = false
        /// How long an unlocked factor is kept before it is wiped, and asked for again when it is needed: 15 min by default.
        /// Zero keeps none.
        public var factorLifetime: Duration = .seconds(15 * 60)
        /// How long after it was sent a request may still reach the server, where that is longer than the client lets requests
        /// take (`MobileTokenClient.Configuration.timeout`), such as behind a proxy that keeps them: by default it is not. A
        /// decision whose answer was lost is not made again before.
        public var requestTimeout: Duration = .zero
        /// How long a canceled agent waits for decisions that are on their way: 25 s by default.
        public var gracePeriod: Duration = .seconds(25)
        /// Whether the history is asked for what became of a decision when nothing else tells: no by default. That takes a
        /// signature, and servers return the latest hundred operations.
        public var asksHistory = false
        /// Numbers in 0..<1 that spread retries.
        package var random: @Sendable () -> Double = { .random(in: 0..<1) }

        /// Creates a configuration with the documented defaults.
        public init() {}

        /// - Parameter requestTimeout: The longest that requests take.
        func limits(requestTimeout: Duration) -> AgentSupervision.Limits {
            var limits = AgentSupervision.Limits()
            limits.maximumConcurrency = self.maximumConcurrency
            limits.policyDeadline = self.policyDeadline
            limits.requestTimeout = max(self.requestTimeout, requestTimeout)
            limits.reviewsIncomplete = self.reviewsIncomplete
            return limits
        }

        var policy: DecisionIntent.Policy { .init(name: self.policyName, version: self.policyVersion) }
    }
}
