public import PowerAuth

extension ApprovalAgent {
    /// The state of an agent: a value to answer a health check with.
    public struct Health: Sendable {
        /// The state of the activations and their polling: counts by state, the oldest successful poll, decisions in flight and
        /// unknown, the skew of the clocks, and the last error.
        public var fleet = OperationsFleet.Health()
        /// Indicates whether decisions are held back, by ``ApprovalAgent/pauseDeciding()`` or for all processes
        /// (``decisionPause``).
        public var isDecidingPaused = false
        /// The pause that the store holds for all processes; see ``MobileTokenClient/pauseDeciding(reason:)``.
        public var decisionPause: DecisionPause?
        /// The number of operations that wait for the policy, for a retry or for the end of a decision.
        public var openOperationCount = 0
        /// The number of listed operations that are left to people.
        public var leftOperationCount = 0
        /// The number of activations that nothing is decided with for now, because their factors are wrong or they have ended.
        /// Each is looked at again after five minutes; see ``ApprovalAgent/resumeDeciding(with:)``.
        public var stoppedActivationCount = 0
        /// The number of these for each reason.
        public var stopReasons: [MobileTokenError.Code: Int] = [:]
        /// Indicates whether ``ApprovalAgent/run()`` is running.
        public var isRunning = false

        /// Creates the health of an agent that does not run, for tests of what shows it.
        public init() {}

        /// Indicates whether nothing asks for a person: it runs, decides, knows what became of every decision, and its clocks
        /// agree.
        public var isWell: Bool {
            self.isRunning && !self.isDecidingPaused && self.stoppedActivationCount == 0
                && self.fleet.decisionsUnknown == 0 && !self.fleet.isClockSkewed
        }
    }
}
