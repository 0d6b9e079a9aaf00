public import PowerAuthClient

extension ApprovalAgent {
    /// The state of an agent, for health checks.
    public struct Health: Sendable {
        /// The health of the activations and their polling: counts by state, the oldest successful poll, decisions in flight and
        /// unknown, clock skew, and the last error.
        public var fleet = OperationsFleet.Health()
        /// Indicates whether deciding is paused, by ``ApprovalAgent/pauseDeciding()`` or for all processes (``decisionPause``).
        public var isDecidingPaused = false
        /// The pause stored for all processes; see ``MobileTokenClient/pauseDeciding(reason:)``.
        public var decisionPause: DecisionPause?
        /// Indicates whether limits are closed because the store was restored, and charges may be missing; see
        /// ``Limit``. Nothing that they concern is approved until their windows have passed.
        public var areLimitsClosed = false
        /// The number of operations waiting for the policy, for a retry or for the end of a decision.
        public var openOperationCount = 0
        /// The number of listed operations left to people.
        public var leftOperationCount = 0
        /// The number of activations stopped because their factors are wrong or they have ended. The agent checks each every five
        /// minutes; see ``ApprovalAgent/resumeDeciding(with:)``.
        public var stoppedActivationCount = 0
        /// The number of stopped activations for each reason.
        public var stopReasons: [MobileTokenError.Code: Int] = [:]
        /// Indicates whether ``ApprovalAgent/run()`` is running.
        public var isRunning = false

        /// Creates the health of an agent that does not run, for tests.
        package init() {}

        /// Indicates whether all is well: the agent runs, decides within open limits, reads every operation, knows every
        /// decision's outcome, and its clocks agree.
        public var isWell: Bool {
            self.isRunning && !self.isDecidingPaused && !self.areLimitsClosed && self.stoppedActivationCount == 0
                && self.fleet.unreadable == 0 && self.fleet.decisionsUnknown == 0 && !self.fleet.isClockSkewed
        }
    }
}
