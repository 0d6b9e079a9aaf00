public import PowerAuthProtocol

/// An activation as the server sees it, and how the counters of both sides compare.
public struct ActivationStatus: Sendable {
    /// Where the activation stands in its life.
    public let state: ActivationState
    /// Signatures refused since the last accepted one.
    public let failedAttempts: Int
    /// This many refused signatures block the activation.
    public let maximumFailedAttempts: Int
    /// How the counters compare, and what was done about it.
    public let counter: CounterComparison
    /// What else the server tells about the activation.
    public let customObject: JSONValue?

    /// How many more signatures may be refused before the activation is blocked.
    public var remainingAttempts: Int { max(0, self.maximumFailedAttempts - self.failedAttempts) }
}

/// How far the counters of client and server are apart.
public struct CounterComparison: Sendable, Hashable {
    /// What follows from the distance.
    public enum Result: Sendable, Hashable {
        /// Signatures are accepted; the client may be ahead by up to half the window.
        case inSync
        /// The server was ahead. The client has moved its counter forward by so many steps.
        case movedForward(Int)
        /// The client is ahead by more than half the window, so it makes a signature that lets the server catch up.
        case signatureRecommended
        /// No signature can be accepted any more: the activation must be replaced.
        case deadlock
    }

    /// What follows from the distance.
    public let result: Result
    /// Steps by which the client was ahead of the server (positive) or behind it (negative). In a deadlock, only what the
    /// lowest byte of both counters suggests.
    public let distance: Int
    /// How far ahead the server searches for a signature's counter.
    public let window: Int

    /// Whether a deadlock comes from a store that was restored from an old backup.
    package let isRolledBack: Bool
}
