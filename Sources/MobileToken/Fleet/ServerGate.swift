import Coordination
package import PowerAuth
import Synchronization

/// Applies ``GuestRules`` to the requests to one server: reads the clock, and lets requests wait, oldest first.
package final class ServerGate: RequestGate {
    private struct State {
        var rules: GuestRules
        /// Whether polls are held back until a request ends.
        var isPollingBlocked = false
        /// How many requests wait at the door, or in the line before it.
        var waiterCount = 0
    }

    private let alarms: Alarms
    private let random: @Sendable () -> Double
    private let state: Mutex<State>
    /// Raised when nobody is at the door: the first who waits may go there.
    private let turn = Signal(isRaised: true)
    /// Raised for whoever is at the door when a request has ended.
    private let hasEnded = Signal()
    /// Called when polls that were held back until a request ends may go on.
    private let unblocked = Mutex<[@Sendable () -> Void]>([])

    package init(_ limits: ServerLimits, clock: any Clock<Duration>, random: @escaping @Sendable () -> Double) {
        self.state = Mutex(State(rules: GuestRules(limits)))
        self.alarms = .on(clock)
        self.random = random
    }

    private var now: Duration { self.alarms.clock.now }

    /// Has `body` called when polls that were held back until a request ends may go on.
    package func onUnblocked(_ body: @escaping @Sendable () -> Void) { self.unblocked.withLock { $0.append(body) } }

    /// Divides the caps by the processes that are alive.
    package func divide(among processes: Int) { self.state.withLock { $0.rules.divide(among: processes) } }

    /// Until when polls are held back, if they are, for the server's sake.
    package var heldBackFor: Duration? {
        let now = self.now
        return self.state.withLock { $0.rules.heldBackUntil(at: now) }.map { $0 - now }
    }

    /// Whether a poll may begin now, for which ``endPoll()`` has to follow.
    ///
    /// - Parameter time: The present in the caller's time, which the result is in too: fleets that share a gate need not count
    ///   from the same moment.
    package func beginPoll(at time: Duration) -> GuestRules.Step {
        let now = self.now
        return self.state.withLock { state in
            let step = state.rules.beginPoll(at: now)
            state.isPollingBlocked = step == .waitForEnd
            if case .wait(let until) = step { return .wait(until: time + (until - now)) }
            return step
        }
    }

    package func endPoll() { self.end { $0.endPoll() } }

    /// How many requests wait for nothing but time to pass.
    package var delayedCount: Int {
        let now = self.now
        return self.state.withLock { $0.rules.nextRequest > now ? $0.waiterCount : 0 }
    }

    // MARK: Requests

    package func enter() async throws {
        self.state.withLock { $0.waiterCount += 1 }
        do {
            guard await self.turn.wait() else { throw CancellationError() }
            defer { self.turn.raise() }
            try await self.waitAtTheDoor()
        } catch {
            self.state.withLock { $0.waiterCount -= 1 }
            throw error
        }
    }

    private func waitAtTheDoor() async throws {
        while true {
            self.hasEnded.lower()  // the step sees every end before
            switch self.step() {
            case .go: return
            case .waitForEnd:
                guard await self.hasEnded.wait() else { throw CancellationError() }
            case .wait(let time):
                let alarm = self.alarms.set(self.hasEnded, at: time)
                defer { self.alarms.cancel(alarm) }
                guard await self.hasEnded.wait() else { throw CancellationError() }
            }
        }
    }

    private func step() -> GuestRules.Step {
        let now = self.now
        return self.state.withLock { state in
            let step = state.rules.enter(at: now)
            if step == .go { state.waiterCount -= 1 }
            return step
        }
    }

    package func leave(_ outcome: RequestOutcome) {
        let (now, random) = (self.now, self.random())
        self.end { $0.ended(outcome, at: now, random: random) }
        self.hasEnded.raise()
    }

    private func end(_ change: (inout sending GuestRules) -> Void) {
        let wasBlocked = self.state.withLock { state in
            change(&state.rules)
            defer { state.isPollingBlocked = false }
            return state.isPollingBlocked
        }
        guard wasBlocked else { return }
        for notify in self.unblocked.withLock({ $0 }) { notify() }
    }

    package func mayRenewToken() -> Bool {
        let now = self.now
        return self.state.withLock { $0.rules.mayRenewToken(at: now) }
    }

    package func tokenRenewed(isAccepted: Bool) {
        let now = self.now
        self.state.withLock { $0.rules.tokenRenewed(isAccepted: isAccepted, at: now) }
    }
}
