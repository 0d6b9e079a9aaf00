/// The state of one call: registered once and resumed once, in any order of response and cancellation. It only decides; the owner
/// resumes the returned continuations outside the lock.
struct TransferState<Continuation: Sendable>: Sendable {
    private enum State {
        /// Cancellation may arrive before there is a continuation.
        case created
        case canceledBeforeStart
        case waiting(Continuation)
        case finished
    }

    private var state: State = .created

    var isFinished: Bool {
        switch self.state {
        case .finished, .canceledBeforeStart: true
        case .created, .waiting: false
        }
    }

    enum StartAction {
        /// Pass the transfer to the engine.
        case start
        /// Resume this with `CancellationError`, because the call was canceled before.
        case cancel(Continuation)
    }

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

    /// Cancels the call. If this returns a continuation, resume it with `CancellationError` and drop the transfer.
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

    /// Finishes the call, and returns the continuation to resume, unless the call was canceled.
    mutating func finish() -> Continuation? {
        guard case .waiting(let continuation) = self.state else { return nil }
        self.state = .finished
        return continuation
    }
}
