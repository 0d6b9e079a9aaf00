/// The life of one call: registered once, resumed once, whatever the order of answer and cancellation.
///
/// It decides; the owner resumes what it is handed, outside the lock.
struct TransferState<Continuation: Sendable>: Sendable {
    private enum State {
        /// Cancellation can arrive here, before there is a continuation to resume.
        case created
        case cancelledBeforeStart
        case waiting(Continuation)
        case finished
    }

    private var state: State = .created

    /// Whether nobody waits any more.
    var isFinished: Bool {
        switch self.state {
        case .finished, .cancelledBeforeStart: true
        case .created, .waiting: false
        }
    }

    enum StartAction {
        /// Hand the transfer to the engine.
        case start
        /// It was cancelled already: resume this with `CancellationError`.
        case cancel(Continuation)
    }

    /// The call waits from now on.
    mutating func start(_ continuation: Continuation) -> StartAction {
        switch self.state {
        case .created:
            self.state = .waiting(continuation)
            return .start
        case .cancelledBeforeStart:
            self.state = .finished
            return .cancel(continuation)
        case .waiting, .finished:
            preconditionFailure("a transfer is started once")
        }
    }

    /// The task was cancelled. Returns what to resume with `CancellationError`; then the engine must drop the transfer.
    mutating func cancel() -> Continuation? {
        switch self.state {
        case .created:
            self.state = .cancelledBeforeStart
            return nil
        case .waiting(let continuation):
            self.state = .finished
            return continuation
        case .cancelledBeforeStart, .finished:  // too late, or a second time
            return nil
        }
    }

    /// There is an answer or an error. Returns what to resume with it, unless cancellation came first.
    mutating func finish() -> Continuation? {
        guard case .waiting(let continuation) = self.state else { return nil }
        self.state = .finished
        return continuation
    }
}
