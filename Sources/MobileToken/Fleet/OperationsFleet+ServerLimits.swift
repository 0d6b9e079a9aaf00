extension OperationsFleet {
    /// The limits on a fleet's requests to one server. Several processes that share a store divide it among themselves.
    ///
    /// The caps hold for all requests of the fleet's clients: polls, decisions, and what is called by hand.
    public struct ServerLimits: Sendable, Hashable {
        /// The most requests in any second: 200 by default. Polls that would exceed it are late, and health shows by how much.
        public var requestsPerSecond: Double
        /// The most requests under way at once: 32 by default.
        public var concurrentRequests: Int
        /// The number of tokens a second that may be renewed after the server refused them: 10 by default. Each takes a signed request.
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
