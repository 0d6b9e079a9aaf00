/// Watches what the SDK does, for metrics and traces. Nothing secret is ever passed to it.
///
/// Every requirement has an empty implementation. The calls come from whatever task does the work, so they must return
/// quickly. Without an observer nothing is measured.
public protocol MobileTokenObserver: Sendable {
    /// Called when a request is about to be sent to a path below the base URL.
    func requestStarted(path: String)
    /// Called when a request ended. `status` is the HTTP status, or `nil` when there was no whole response.
    func requestFinished(path: String, status: Int?, duration: Duration)
    /// Called when a request is sent once more, with what was missing put right.
    func requestRetried(path: String, reason: RetryReason)
    /// Called when the server's status told how far the activation's counters are apart.
    ///
    /// A positive distance means that the client is ahead, a negative one that the server is. Signatures succeed as long
    /// as the client is ahead by less than `window`.
    func counterCompared(activationID: String, distance: Int, window: Int)
    /// Called when a poll of the operations starts, `lag` later than it was planned for.
    func pollStarted(activationID: String, lag: Duration)
    /// Called when polling was asked for at a shorter interval than the minimum, which is used instead.
    func pollIntervalRaised(activationID: String, requested: Duration, used: Duration)
    /// Called when the list of operations changed; `count` is how many there are now.
    func operationListChanged(activationID: String, count: Int, added: Int, updated: Int, removed: Int)
    /// Called when a fleet has opened, or found that it cannot open, so many of the activations that it polls.
    func fleetOpened(_ count: Int, of total: Int)
    /// Called when an activation of a fleet is in another phase than before, such as `active`; `reason` tells why where
    /// it ended or waits.
    func fleetPhaseChanged(activationID: String, phase: String, reason: MobileTokenError?)
}

/// Why a request is sent once more.
public enum RetryReason: String, Sendable, Hashable {
    /// The server had used counter values that the client had not; the client has moved forward.
    case counterMoved
    /// The server no longer knew the temporary encryption key; another was fetched.
    case temporaryKeyRenewed
    /// The server no longer accepted the token; another was created.
    case tokenRenewed
}

extension MobileTokenObserver {
    /// Does nothing.
    public func requestStarted(path: String) {}
    /// Does nothing.
    public func requestFinished(path: String, status: Int?, duration: Duration) {}
    /// Does nothing.
    public func requestRetried(path: String, reason: RetryReason) {}
    /// Does nothing.
    public func counterCompared(activationID: String, distance: Int, window: Int) {}
    /// Does nothing.
    public func pollStarted(activationID: String, lag: Duration) {}
    /// Does nothing.
    public func pollIntervalRaised(activationID: String, requested: Duration, used: Duration) {}
    /// Does nothing.
    public func operationListChanged(activationID: String, count: Int, added: Int, updated: Int, removed: Int) {}
    /// Does nothing.
    public func fleetOpened(_ count: Int, of total: Int) {}
    /// Does nothing.
    public func fleetPhaseChanged(activationID: String, phase: String, reason: MobileTokenError?) {}
}
