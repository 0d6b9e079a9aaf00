/// Watches what the SDK does, for logs, metrics and traces. Nothing secret is ever passed to it: no password, key, token,
/// signature or value of a counter.
///
/// Every requirement has an empty implementation, and takes a value that may get more properties in later versions. The calls
/// come from whatever task does the work, so they must return quickly. Without an observer nothing is measured or made.
///
/// ```swift
/// struct SlowRequests: MobileTokenObserver {
///     func requestFinished(_ request: Observed.Request, with result: Observed.Request.Result) {
///         guard result.duration > .seconds(1) else { return }
///         print(request.path, request.activationID ?? "-", result.outcome, result.duration)
///     }
/// }
///
/// configuration.observer = SlowRequests()
/// ```
public protocol MobileTokenObserver: Sendable {
    /// Called when a request is about to be sent.
    func requestStarted(_ request: Observed.Request)
    /// Called when a request ended, once for each that was started.
    func requestFinished(_ request: Observed.Request, with result: Observed.Request.Result)
    /// Called when a request is made once more, with what was missing put right. The next one has another
    /// ``Observed/Request/id``.
    func requestRetried(_ retry: Observed.Retry)

    /// Called when a signature was made, and has used up a value of the counter.
    func signatureMade(_ signature: Observed.Signature)
    /// Called when the server's status told how far an activation's counters are apart.
    func counterCompared(_ comparison: ActivationStatus.CounterComparison, of activationID: String)

    /// Called when a signed decision on an operation ended, and when it was found out later what became of one.
    func decisionEnded(_ decision: Observed.Decision)
    /// Called when something was written into the receipts, or could not be.
    func receiptWritten(_ receipt: Observed.Receipt)

    /// Called when a poll of the operations starts.
    func pollStarted(_ poll: Observed.Poll)
    /// Called when polling was asked for at a shorter interval than the minimum, which is used instead.
    func pollIntervalRaised(activationID: String, requested: Duration, used: Duration)
    /// Called when a list of operations changed.
    func operationListChanged(_ list: Observed.OperationList)

    /// Called when an activation of a fleet, or the one of an agent, is doing otherwise than before.
    func activationStateChanged(_ state: Observed.ActivationState)
    /// Called when a fleet has opened, or found that it cannot open, so many of the activations that it polls.
    func fleetOpened(_ count: Int, of total: Int)
    /// Called when an agent did something, or found something out: its verdicts, what it leaves to people, and why.
    func agentReported(_ report: Observed.Agent)
}

extension MobileTokenObserver {
    /// Does nothing.
    public func requestStarted(_ request: Observed.Request) {}
    /// Does nothing.
    public func requestFinished(_ request: Observed.Request, with result: Observed.Request.Result) {}
    /// Does nothing.
    public func requestRetried(_ retry: Observed.Retry) {}
    /// Does nothing.
    public func signatureMade(_ signature: Observed.Signature) {}
    /// Does nothing.
    public func counterCompared(_ comparison: ActivationStatus.CounterComparison, of activationID: String) {}
    /// Does nothing.
    public func decisionEnded(_ decision: Observed.Decision) {}
    /// Does nothing.
    public func receiptWritten(_ receipt: Observed.Receipt) {}
    /// Does nothing.
    public func pollStarted(_ poll: Observed.Poll) {}
    /// Does nothing.
    public func pollIntervalRaised(activationID: String, requested: Duration, used: Duration) {}
    /// Does nothing.
    public func operationListChanged(_ list: Observed.OperationList) {}
    /// Does nothing.
    public func activationStateChanged(_ state: Observed.ActivationState) {}
    /// Does nothing.
    public func fleetOpened(_ count: Int, of total: Int) {}
    /// Does nothing.
    public func agentReported(_ report: Observed.Agent) {}
}
