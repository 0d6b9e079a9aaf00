import DecisionReceipts

extension ApprovalAgent {
    /// The settings of an agent.
    public struct Configuration: Sendable {
        /// The policy's name in receipts: `policy` by default.
        public var policyName = "policy"
        /// The policy's version in receipts, such as a commit: none by default.
        public var policyVersion = ""
        /// The maximum number of operations in progress, at most one per activation: 16 by default.
        public var maximumConcurrency = 16
        /// The policy's deadline: 30 s by default. After that the policy's task is canceled and the operation is left to people.
        /// Factors not unlocked within this time are requested again later.
        public var policyDeadline: Duration = .seconds(30)
        /// Indicates whether the policy is also asked about incomplete operations, and so must check
        /// ``OperationReview/doubts``. Default: `false`.
        public var reviewsIncomplete = false
        /// The time until an unlocked factor is wiped; it is unlocked again when needed. 15 min by default; zero keeps none.
        public var factorLifetime: Duration = .seconds(15 * 60)
        /// The time that a canceled agent allows for decisions in flight: 25 s by default.
        public var gracePeriod: Duration = .seconds(25)
        /// Indicates whether approvals are also signed with the device's own key; see
        /// ``OperationsService/signedByDevice(_:with:)``. Requires possession and knowledge, and one more request per approval. Default: `false`.
        public var signsByDevice = false
        /// The limits of what is approved; none by default.
        public var limits: [Limit] = []
        /// Returns the user of an activation, for limits of ``Limit/Scope/user``. By default it is unknown, which is over each such
        /// limit.
        public var userID: @Sendable (_ activationID: String) -> String? = { _ in nil }
        /// Random numbers in 0..<1 that spread retries.
        package var random: @Sendable () -> Double = { .random(in: 0..<1) }

        /// Creates a configuration with the documented defaults.
        public init() {}

        /// - Parameter requestTimeout: The time within which a sent request may still reach the server.
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
