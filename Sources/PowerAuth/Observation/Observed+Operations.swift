extension Observed {
    /// A poll of an activation's operations.
    public struct Poll: Sendable {
        /// The activation that is polled.
        public let activationID: String
        /// The delay of its start after the planned moment.
        public let lag: Duration

        package init(activationID: String, lag: Duration) {
            self.activationID = activationID
            self.lag = lag
        }
    }
}

extension Observed {
    /// A change of an activation's list of operations.
    public struct OperationList: Sendable {
        /// The activation whose list it is.
        public let activationID: String
        /// The number of operations in the list now.
        public let count: Int
        /// The number of new operations.
        public let added: Int
        /// The number of operations that have changed.
        public let updated: Int
        /// The number of operations that have left the list.
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
