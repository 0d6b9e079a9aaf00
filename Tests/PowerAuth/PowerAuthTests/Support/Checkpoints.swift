import StoreTesting
import HTTPClientTransport
import PowerAuth
import Synchronization

/// Numbers every place where a call waits for the world outside, and stops at one of them until it is let go.
final class Checkpoints: Sendable {
    private struct State {
        var count = 0
        var stopAt: Int?
        var isStopped = false
        var isReleased = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// The number of places passed.
    var count: Int { self.state.withLock { $0.count } }
    /// `true` if a task waits at the chosen place.
    var isStopped: Bool { self.state.withLock { $0.isStopped } }

    /// Starts counting anew; the place of this number will stop whoever comes there.
    func arm(stopAt number: Int?) {
        self.state.withLock {
            $0 = State()
            $0.stopAt = number
        }
    }

    /// Lets the stopped task go on.
    func release() {
        let waiter = self.state.withLock { state in
            state.isReleased = true
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// One such place. Like a real transport or store it may or may not notice a cancellation; this one does not, so the
    /// code around it has to.
    func pass() async {
        await withCheckedContinuation { (waiter: CheckedContinuation<Void, Never>) in
            let goesOn = self.state.withLock { state in
                state.count += 1
                guard state.count == state.stopAt, !state.isReleased else { return true }
                state.isStopped = true
                state.waiter = waiter
                return false
            }
            if goesOn { waiter.resume() }
        }
    }
}

/// A transport that stops at its checkpoints before and after each request.
struct CheckpointTransport: HTTPTransport {
    let base: any HTTPTransport
    let checkpoints: Checkpoints
    /// `true` if a cancelled task takes its request off the wire, as the real transport does.
    let honoursCancellation: Bool

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        await self.checkpoints.pass()
        if self.honoursCancellation { try Task.checkCancellation() }
        let response = try await self.base.send(request)
        await self.checkpoints.pass()
        if self.honoursCancellation { try Task.checkCancellation() }
        return response
    }
}

/// A driver that stops at its checkpoints before and after each call.
struct CheckpointDriver: ForwardingDriver {
    let base: any JournalDriver
    let checkpoints: Checkpoints

    func passing<Result>(_ call: () async throws -> Result) async throws -> Result {
        await self.checkpoints.pass()
        let result = try await call()
        await self.checkpoints.pass()
        return result
    }
}
