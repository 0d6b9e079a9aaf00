import Basics
import Synchronization

/// One call of `send`: its request, and the caller that waits for the response.
final class Transfer: Sendable {
    /// Unchecked, since ``TransferState`` returns each one exactly once.
    typealias Continuation = UnsafeContinuation<HTTPResponse, any Error>

    let request: HTTPRequest
    let origin: String
    let deadline: ContinuousClock.Instant

    private let state = Mutex(TransferState<Continuation>())

    init(_ request: HTTPRequest, defaultTimeout: Duration) throws(HTTPTransportError) {
        self.origin = try request.origin()
        try request.validateHeaders()
        let timeout = request.timeout ?? defaultTimeout
        guard timeout > .zero else { throw HTTPTransportError(.timeout, detail: "the timeout is not positive") }
        self.request = request
        self.deadline = .now + timeout.bounded
    }

    var isFinished: Bool { self.state.withLock { $0.isFinished } }

    func start(_ continuation: Continuation) -> TransferState<Continuation>.StartAction {
        self.state.withLock { $0.start(continuation) }
    }

    func cancel() -> Continuation? { self.state.withLock { $0.cancel() } }

    func finish() -> Continuation? { self.state.withLock { $0.finish() } }
}
