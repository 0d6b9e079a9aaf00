import Basics
import Synchronization

/// One call of `send`: its request and its waiting caller.
final class Transfer: Sendable {
    /// Unchecked, because ``TransferState`` returns each one exactly once.
    typealias Continuation = UnsafeContinuation<HTTPResponse, any Error>

    let request: HTTPRequest
    let origin: String
    let deadline: ContinuousClock.Instant

    let state = Mutex(TransferState<Continuation>())

    init(_ request: HTTPRequest, defaultTimeout: Duration) throws(HTTPTransportError) {
        self.origin = try request.origin()
        try request.validateHeaders()
        let timeout = request.timeout ?? defaultTimeout
        guard timeout > .zero else { throw HTTPTransportError(.timeout, detail: "the timeout is not positive") }
        self.request = request
        self.deadline = .now + timeout.bounded
    }

    var isFinished: Bool { self.state.withLock { $0.isFinished } }
}
