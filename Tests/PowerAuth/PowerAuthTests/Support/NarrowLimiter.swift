import Coordination
import PowerAuth
import Synchronization

/// A limiter that lets so many requests through at once, and keeps what became of each.
final class NarrowLimiter: RequestLimiter {
    private struct State {
        var held: Set<UInt64> = []
        var given: UInt64 = 0
        var most = 0
        var outcomes: [RequestOutcome] = []
    }

    private static let line = "permits"
    private let limiter: KeyedSemaphore
    private let state = Mutex(State())

    init(width: Int) { self.limiter = KeyedSemaphore(width: width) }

    var waitingCount: Int { self.limiter.waitingCount(in: Self.line) }
    /// The most permits that were held at once.
    var most: Int { self.state.withLock { $0.most } }
    var outcomes: [RequestOutcome] { self.state.withLock { $0.outcomes } }

    func enter(for limit: Duration) async throws -> UInt64 {
        try await self.limiter.enter(Self.line)
        return self.state.withLock { state in
            state.given += 1
            state.held.insert(state.given)
            state.most = max(state.most, state.held.count)
            return state.given
        }
    }

    func begin(_ permit: UInt64) {}

    func leave(_ permit: UInt64, _ outcome: RequestOutcome) {
        let wasHeld = self.state.withLock { state in
            guard state.held.remove(permit) != nil else { return false }
            state.outcomes.append(outcome)
            return true
        }
        if wasHeld { self.limiter.leave(Self.line) }
    }

    func mayRenewToken() -> Bool { true }
    func recordTokenRenewal(isAccepted: Bool) {}
}
