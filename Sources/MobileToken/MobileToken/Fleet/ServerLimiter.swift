import Basics
import Coordination
package import PowerAuthClient
import Synchronization

/// Applies ``GuestRules`` to requests to one server: reads the clock, and queues requests, oldest first.
package final class ServerLimiter: RequestLimiter {
    fileprivate struct State {
        var rules: GuestRules
        /// Indicates whether polls are held back until a request ends.
        var isPollingBlocked = false
        var waiterCount = 0
        var permits: [UInt64: Permit] = [:]
        var lastPermit: UInt64 = 0
        /// The time before which no permit is over.
        var firstEnd = Duration.longest
        /// Permits that were over before their requests ended.
        var oldPermits: Set<UInt64> = []
    }

    fileprivate struct Permit {
        /// The time when its request was sent; `nil` if it was not.
        var sent: Duration?
        /// The time when it expires, whatever the fate of its request.
        let end: Duration
    }

    private let alarms: Alarms
    private let random: @Sendable () -> Double
    private let state: Mutex<State>
    /// Raised when no request is at the head of the queue.
    private let turn = Signal(isRaised: true)
    /// Raised for the head of the queue when a request has ended.
    private let hasEnded = Signal()
    private let unblocked: @Sendable () -> Void

    /// - Parameter unblocked: Called when polls that waited for the end of a request may resume.
    package init(
        _ limits: OperationsFleet.ServerLimits,
        clock: any Clock<Duration>,
        random: @escaping @Sendable () -> Double,
        unblocked: @escaping @Sendable () -> Void = {}
    ) {
        self.unblocked = unblocked
        self.state = Mutex(State(rules: GuestRules(limits)))
        self.alarms = .on(clock)
        self.random = random
    }

    private var now: Duration { self.alarms.clock.now }

    package func divide(among processes: Int) { self.state.withLock { $0.rules.divide(among: processes) } }

    /// The remaining pause of polls, if they are paused.
    package var heldBackFor: Duration? {
        let now = self.now
        return self.state.withLock { $0.rules.heldBackUntil(at: now) }.map { $0 - now }
    }

    /// Returns whether a poll may begin now; call ``endPoll()`` afterwards.
    ///
    /// - Parameter time: The current time on the caller's time base, which the result uses too: fleets with a common limiter may
    ///   have different ones.
    package func beginPoll(at time: Duration) -> GuestRules.Step {
        let now = self.now
        return self.state.withLock { state in
            let step = state.rules.beginPoll(at: now)
            state.isPollingBlocked = step == .waitForEnd
            if case .wait(let until) = step { return .wait(until: time + (until - now)) }
            return step
        }
    }

    package func endPoll() { self.end { $0.rules.endPoll() } }

    /// The number of requests that wait only for time to pass.
    package var delayedCount: Int {
        let now = self.now
        return self.state.withLock { $0.rules.nextRequest(at: now) > now ? $0.waiterCount : 0 }
    }

    // MARK: Requests

    package func enter(for limit: Duration) async throws -> UInt64 {
        self.state.withLock { $0.waiterCount += 1 }
        do {
            guard await self.turn.wait() else { throw CancellationError() }
            defer { self.turn.raise() }
            return try await self.waitForPermit(for: limit)
        } catch {
            self.state.withLock { $0.waiterCount -= 1 }
            throw error
        }
    }

    private func waitForPermit(for limit: Duration) async throws -> UInt64 {
        while true {
            self.hasEnded.lower()  // the step sees every end before
            let (step, permit) = self.step(for: limit)
            switch step {
            case .go: return permit
            case .waitForEnd: guard await self.hasEnded.wait() else { throw CancellationError() }
            case .wait(let time):
                let alarm = self.alarms.set(self.hasEnded, at: time)
                defer { self.alarms.cancel(alarm) }
                guard await self.hasEnded.wait() else { throw CancellationError() }
            }
        }
    }

    private func step(for limit: Duration) -> (GuestRules.Step, permit: UInt64) {
        let now = self.now
        return self.state.withLock { state in
            state.dropOldPermits(at: now)
            let step = state.rules.enter(at: now)
            switch step {
            case .go:
                state.waiterCount -= 1
                state.lastPermit += 1
                let permit = Permit(end: now + limit.bounded)
                state.permits[state.lastPermit] = permit
                state.firstEnd = min(state.firstEnd, permit.end)
                return (.go, state.lastPermit)
            case .waitForEnd: return (state.permits.values.map(\.end).min().map { .wait(until: $0) } ?? step, 0)
            case .wait: return (step, 0)
            }
        }
    }

    package func begin(_ permit: UInt64) {
        let now = self.now
        self.state.withLock { $0.send(permit, at: now) }
    }

    package func leave(_ permit: UInt64, _ outcome: RequestOutcome) {
        let (now, random) = (self.now, self.random())
        self.end { state in
            if outcome != .unused { state.send(permit, at: now) }
            guard let ended = state.permits.removeValue(forKey: permit) else {
                guard state.oldPermits.remove(permit) != nil else { return }
                return state.rules.record(outcome, at: now, random: random)
            }
            if outcome == .unused {
                state.rules.withdraw(sentAt: ended.sent)
            } else {
                state.rules.end(outcome, at: now, random: random)
            }
        }
        self.hasEnded.raise()
    }

    private func end(_ change: (inout sending State) -> Void) {
        let wasBlocked = self.state.withLock { state in
            change(&state)
            defer { state.isPollingBlocked = false }
            return state.isPollingBlocked
        }
        if wasBlocked { self.unblocked() }
    }

    package func mayRenewToken() -> Bool {
        let now = self.now
        return self.state.withLock { $0.rules.mayRenewToken(at: now) }
    }

    package func recordTokenRenewal(isAccepted: Bool) {
        let now = self.now
        self.state.withLock { $0.rules.recordTokenRenewal(isAccepted: isAccepted, at: now) }
    }
}

extension ServerLimiter.State {
    /// Notes that a permit's request is sent, once.
    fileprivate mutating func send(_ permit: UInt64, at now: Duration) {
        guard let unsent = self.permits[permit], unsent.sent == nil else { return }
        self.rules.send(at: now)
        self.permits[permit]?.sent = now
    }

    /// Removes expired permits. A request normally ends before its permit; one that is held up must not hold up all others.
    fileprivate mutating func dropOldPermits(at now: Duration) {
        guard self.firstEnd <= now else { return }
        for (permit, times) in self.permits where times.end <= now {
            self.send(permit, at: now)
            self.permits[permit] = nil
            self.oldPermits.insert(permit)
            self.rules.freePlace()
        }
        self.firstEnd = self.permits.values.map(\.end).min() ?? .longest
    }
}
