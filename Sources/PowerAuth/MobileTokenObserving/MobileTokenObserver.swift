/// Receives the SDK's events, for logs, metrics and traces. Events contain no password, key, token, signature or counter value.
///
/// Every requirement has an empty default, and takes a value that may get more properties in later versions. Calls come from the
/// task that does the work, so return quickly. Without an observer nothing is measured.
///
/// ```swift
/// struct SlowRequests: MobileTokenObserver {
///     func requestFinished(_ request: MobileTokenObservation.Request, with result: MobileTokenObservation.Request.Result) {
///         guard result.duration > .seconds(1) else { return }
///         print(request.path, request.activationID ?? "-", result.outcome, result.duration)
///     }
/// }
///
/// configuration.observer = SlowRequests()
/// ```
public protocol MobileTokenObserver: Sendable {
    /// Called just before a request is sent.
    func requestStarted(_ request: MobileTokenObservation.Request)
    /// Called when a request ends, once for each that was started.
    func requestFinished(_ request: MobileTokenObservation.Request, with result: MobileTokenObservation.Request.Result)
    /// Called when a request is repeated after its cause of failure was fixed. The next attempt has another
    /// ``MobileTokenObservation/Request/id``.
    func requestRetried(_ retry: MobileTokenObservation.Retry)

    /// Called when a signature has been made and has consumed a counter value.
    func signatureMade(_ signature: MobileTokenObservation.Signature)
    /// Called when a signature waits for an earlier decision that may still reach the server: at the start, and after each look
    /// at the server's counter.
    func signingWaits(_ wait: MobileTokenObservation.Wait)
    /// Called when the server's status has been compared with the counter.
    func counterCompared(_ comparison: CounterComparison, of activationID: String)

    /// Called when a signed decision ends, and again when its unknown outcome is determined.
    func decisionEnded(_ decision: MobileTokenObservation.Decision)
    /// Called when an entry was written to the receipts, or could not be.
    func receiptWritten(_ receipt: MobileTokenObservation.Receipt)

    /// Called when a poll starts.
    func pollStarted(_ poll: MobileTokenObservation.Poll)
    /// Called when polling was requested at less than the minimum interval, which is used instead.
    func pollIntervalRaised(activationID: String, requested: Duration, used: Duration)
    /// Called when a list of operations changed.
    func operationListChanged(_ list: MobileTokenObservation.OperationList)

    /// Called when the state of a fleet's or an agent's activation changes.
    func activationStateChanged(_ state: MobileTokenObservation.ActivationState)
    /// Called when a fleet has opened some of its activations, or failed to.
    func fleetOpened(_ count: Int, of total: Int)
    /// Called for the events of an agent: its verdicts, and the operations it leaves to people, with reasons.
    func agentReported(_ report: MobileTokenObservation.Agent)
}

extension MobileTokenObserver {
    /// Does nothing.
    public func requestStarted(_ request: MobileTokenObservation.Request) {}
    /// Does nothing.
    public func requestFinished(
        _ request: MobileTokenObservation.Request,
        with result: MobileTokenObservation.Request.Result
    ) {}
    /// Does nothing.
    public func requestRetried(_ retry: MobileTokenObservation.Retry) {}
    /// Does nothing.
    public func signatureMade(_ signature: MobileTokenObservation.Signature) {}
    /// Does nothing.
    public func signingWaits(_ wait: MobileTokenObservation.Wait) {}
    /// Does nothing.
    public func counterCompared(_ comparison: CounterComparison, of activationID: String) {}
    /// Does nothing.
    public func decisionEnded(_ decision: MobileTokenObservation.Decision) {}
    /// Does nothing.
    public func receiptWritten(_ receipt: MobileTokenObservation.Receipt) {}
    /// Does nothing.
    public func pollStarted(_ poll: MobileTokenObservation.Poll) {}
    /// Does nothing.
    public func pollIntervalRaised(activationID: String, requested: Duration, used: Duration) {}
    /// Does nothing.
    public func operationListChanged(_ list: MobileTokenObservation.OperationList) {}
    /// Does nothing.
    public func activationStateChanged(_ state: MobileTokenObservation.ActivationState) {}
    /// Does nothing.
    public func fleetOpened(_ count: Int, of total: Int) {}
    /// Does nothing.
    public func agentReported(_ report: MobileTokenObservation.Agent) {}
}
