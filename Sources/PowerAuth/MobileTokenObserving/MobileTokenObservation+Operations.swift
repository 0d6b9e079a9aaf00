extension MobileTokenObservation {
    /// A poll of an activation's operations.
    public struct Poll: Sendable {
        /// The polled activation.
        public let activationID: String
        /// The delay after the planned start.
        public let lag: Duration

        package init(activationID: String, lag: Duration) {
            self.activationID = activationID
            self.lag = lag
        }
    }
}

extension MobileTokenObservation {
    /// A change of an activation's operation list.
    public struct OperationList: Sendable {
        /// The list's activation.
        public let activationID: String
        /// The number of operations now in the list.
        public let count: Int
        /// The number of new operations.
        public let added: Int
        /// The number of changed operations.
        public let updated: Int
        /// The number of removed operations.
        public let removed: Int

        package init(activationID: String, count: Int, added: Int, updated: Int, removed: Int) {
            self.activationID = activationID
            self.count = count
            self.added = added
            self.updated = updated
            self.removed = removed
        }
    }
}
