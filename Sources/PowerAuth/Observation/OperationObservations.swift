/// A poll of an activation's operations.
public struct PollObservation: Sendable {
    /// The activation that is polled.
    public let activationID: String
    /// How much later it starts than it was planned for.
    public let lag: Duration

    /// Creates an observation, for tests of an observer.
    public init(activationID: String, lag: Duration) {
        self.activationID = activationID
        self.lag = lag
    }
}

/// A change of an activation's list of operations.
public struct OperationListObservation: Sendable {
    /// The activation whose list it is.
    public let activationID: String
    /// How many operations there are now.
    public let count: Int
    /// How many of them are new.
    public let added: Int
    /// How many of them are other than before.
    public let updated: Int
    /// How many have left the list.
    public let removed: Int

    /// Creates an observation, for tests of an observer.
    public init(activationID: String, count: Int, added: Int, updated: Int, removed: Int) {
        self.activationID = activationID
        self.count = count
        self.added = added
        self.updated = updated
        self.removed = removed
    }
}
