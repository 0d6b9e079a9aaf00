extension OperationsFleet {
    /// The limits on a fleet's requests to one server. Processes that share a store divide them.
    ///
    /// The limits cover all requests of the fleet's clients: polls, decisions, and manual calls.
    public struct ServerLimits: Sendable, Hashable {
        /// The maximum number of requests in any second: 200 by default. Polls above it are delayed, and health shows by how
        /// much.
        public var requestsPerSecond: Double
        /// The maximum number of concurrent requests: 32 by default.
        public var concurrentRequests: Int
        /// The maximum number of refused tokens to renew per second, each with a signed request: 10 by default.
        public var tokenRenewalsPerSecond: Double

        /// Creates limits.
        public init(requestsPerSecond: Double = 200, concurrentRequests: Int = 32, tokenRenewalsPerSecond: Double = 10)
        {
            self.requestsPerSecond = requestsPerSecond
            self.concurrentRequests = concurrentRequests
            self.tokenRenewalsPerSecond = tokenRenewalsPerSecond
        }

        /// Returns the share of one of `count` processes.
        package func share(among count: Int) -> Self {
            let count = max(1, count)
            return Self(
                requestsPerSecond: self.requestsPerSecond / Double(count),
                concurrentRequests: max(1, self.concurrentRequests / count),
                tokenRenewalsPerSecond: self.tokenRenewalsPerSecond / Double(count)
            )
        }
    }
}
