public import ExactJSON
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
    /// What else the server says about the activation.
    public let customObject: JSONValue?

    /// How many more signatures may be refused before the activation is blocked.
    public var remainingAttempts: Int { max(0, self.maximumFailedAttempts - self.failedAttempts) }
}
