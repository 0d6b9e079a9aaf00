/// The state of one call: registered once, resumed once, whatever the order of response and cancellation.
///
/// It decides; the owner resumes the continuations that it returns, outside the lock.
struct TransferState<Continuation: Sendable>: Sendable {
    private enum State {
        /// Cancellation can arrive here, before there is a continuation to resume.
        case created
        case canceledBeforeStart
        case waiting(Continuation)
        case finished
    }

    private var state: State = .created

    /// Indicates whether the caller no longer waits.
    var isFinished: Bool {
        switch self.state {
        case .finished, .canceledBeforeStart: true
        case .created, .waiting: false
        }
    }

    enum StartAction {
        /// Hand the transfer to the engine.
        case start
        /// Resume this with `CancellationError`, since the call was canceled before.
        case cancel(Continuation)
    }

    /// Registers the continuation of the call.
    mutating func start(_ continuation: Continuation) -> StartAction {
        switch self.state {
        case .created:
            self.state = .waiting(continuation)
            return .start
        case .canceledBeforeStart:
            self.state = .finished
            return .cancel(continuation)
        case .waiting, .finished:
            preconditionFailure("a transfer is started once")
        }
    }

    /// Cancels the call. Returns the continuation to resume with `CancellationError`; then the engine must drop the transfer.
    mutating func cancel() -> Continuation? {
        switch self.state {
        case .created:
            self.state = .canceledBeforeStart
            return nil
        case .waiting(let continuation):
            self.state = .finished
            return continuation
        case .canceledBeforeStart, .finished:  // too late, or a second time
            return nil
        }
    }

    /// Finishes the call. Returns the continuation to resume with the result, unless cancellation came first.
    mutating func finish() -> Continuation? {
        guard case .waiting(let continuation) = self.state else { return nil }
        self.state = .finished
        return continuation
    }
}
