package import Coordination
package import MobileTokenErrors
import Synchronization

/// Executes the steps of a ``PollingState``: reads the clock, sleeps, sends.
///
/// It starts no task. Callers of
/// ``run(_:send:)`` lend theirs: one polls, the others stand by. A fleet steps it from its pump instead, by ``drive(_:for:onChange:)``.
package final class Poller: Sendable {
    fileprivate struct State {
        var following: PollingState
        /// Called instead of waking a task, if the runner with the turn has none.
        var driver: (@Sendable () -> Void)?
        /// Callbacks of fleets without the turn, called when the turn is free or the condition changed.
        var standbys: [ObjectIdentifier: @Sendable () -> Void] = [:]
    }

    let alarms: Alarms
    private let random: @Sendable () -> Double
    private let state: Mutex<State>
    /// Raised when the schedule has changed under the runner.
    private let changed = Signal()
    /// Raised when the turn to poll is free.
    private let turn = Signal(isRaised: true)

    /// - Parameters:
    ///   - alarms: The alarms of the caller that steps the schedule, so that both share a time base.
    ///   - random: Returns numbers in 0..<1 that spread polls.
    ///   - canAskStatus: `true` if the activation's status can be requested.
    package init(alarms: Alarms, random: @escaping @Sendable () -> Double, canAskStatus: Bool) {
        self.alarms = alarms
        self.random = random
        self.state = Mutex(State(following: PollingState(canAskStatus: canAskStatus)))
    }

    package var clock: ServiceClock { self.alarms.clock }
    package var now: Duration { self.clock.now }

    package var isRunning: Bool { self.state.withLock { $0.following.isRunning } }
    package var isPaused: Bool { self.state.withLock { $0.following.isPaused } }
    package var runnerCount: Int { self.state.withLock { $0.following.runnerCount } }
    /// Indicates whether the server asked to wait, in response to any request: polls do.
    package var isAskedToWait: Bool {
        let now = self.now
        return self.state.withLock { $0.following.isAskedToWait(at: now) }
    }
    package var condition: ActivationCondition { self.state.withLock { $0.following.condition } }

    /// The time of the next request; `nil` while polling is paused, during a poll, and without runners.
    package var next: Duration? {
        let now = self.now
        return self.state.withLock { $0.following.next(at: now) }
    }

    // MARK: Runners

    /// Adds a runner. Call ``run(_:send:)`` or ``leave(_:)`` next.
    package func enter(_ plan: PollingState.Plan) -> PollingState.Runner {
        let (now, random) = (self.now, self.random())
        return self.state.withLock { $0.following.enter(plan, at: now, random: random) }
    }

    package func isActive(_ runner: PollingState.Runner) -> Bool {
        self.state.withLock { $0.following.isActive(runner) }
    }

    /// Removes a runner at once. The last one ends polling. Cancel the runner's task, if any, too.
    package func leave(_ runner: PollingState.Runner) { self.state.withLock { $0.following.leave(runner) } }

    /// Polls until the calling task is canceled, the runner left, or polling ended for every runner.
    ///
    /// - Parameter send: Sends a request, and notes its outcome.
    /// - Returns: The reason why polling ended for every runner, if it did.
    package func run(
        _ runner: PollingState.Runner,
        send: (PollingState.Request) async -> Void
    ) async -> MobileTokenError? {
        // Cancellation affects the schedule at once, so that the next runner does not inherit it.
        await withTaskCancellationHandler {
            defer { self.leave(runner) }
            guard await self.turn.wait() else { return nil }
            defer { self.giveTurnBack() }
            return await self.carryOutSteps(of: runner, send: send)
        } onCancel: {
            self.leave(runner)
        }
    }

    private func carryOutSteps(
        of runner: PollingState.Runner,
        send: (PollingState.Request) async -> Void
    ) async -> MobileTokenError? {
        while !Task.isCancelled {
            self.changed.lower()  // the step sees everything that was raised before
            switch self.step(runner) {
            case .send(let request): await send(request)
            case .sleep(let deadline): await self.waitForChange(until: deadline)
            case .wait: _ = await self.changed.wait()
            case .over(let reason): return reason
            }
        }
        return nil
    }

    private func waitForChange(until deadline: Duration) async {
        let alarm = self.alarms.set(self.changed, at: deadline)
        _ = await self.changed.wait()
        self.alarms.cancel(alarm)
    }

    // MARK: Running without a task

    /// Takes the turn for a fleet that steps the schedule itself, without a task in ``run(_:send:)``. Call ``release(_:by:)``
    /// afterwards.
    ///
    /// - Parameters:
    ///   - fleet: The fleet's unique identifier.
    ///   - onChange: Called when the schedule has changed and needs another step, or the turn is free.
    /// - Returns: `nil` while another runner has the turn.
    package func drive(
        _ plan: PollingState.Plan,
        for fleet: ObjectIdentifier,
        onChange: @escaping @Sendable () -> Void
    ) -> PollingState.Runner? {
        self.state.withLock { $0.standbys[fleet] = onChange }
        // After registering, so that a turn released meanwhile is not missed.
        guard self.turn.take() else { return nil }
        self.state.withLock { state in
            state.driver = onChange
            state.standbys[fleet] = nil
        }
        return self.enter(plan)
    }

    /// Releases the turn taken by ``drive(_:for:onChange:)``; without a runner, ends the wait for it.
    package func release(_ runner: PollingState.Runner?, by fleet: ObjectIdentifier) {
        self.state.withLock { $0.standbys[fleet] = nil }
        guard let runner else { return }
        self.state.withLock { $0.driver = nil }
        self.leave(runner)
        self.giveTurnBack()
    }

    private func giveTurnBack() {
        self.turn.raise()
        self.wakeStandbys()
    }

    private func wakeStandbys() {
        for standby in self.state.withLock({ Array($0.standbys.values) }) { standby() }
    }

    /// Returns the next step of the runner that has the turn. After `.send(.poll)`, call ``record(_:)``.
    package func step(_ runner: PollingState.Runner) -> PollingState.Step {
        let now = self.now
        return self.state.withLock { $0.following.step(runner, at: now) }
    }

    /// Notes the end of the current poll, as cut off if the task is canceled.
    package func record(_ outcome: PollingState.Outcome) {
        let (now, random) = (self.now, self.random())
        let outcome = Task.isCancelled ? .canceled : outcome
        self.state.withLock { $0.following.record(outcome, at: now, random: random) }
    }

    /// Notes that the server asked to wait, in response to a fetch or a status request.
    package func wait(_ retryAfter: Duration) {
        let (now, random) = (self.now, self.random())
        self.state.withLock { $0.following.wait(retryAfter, at: now, random: random) }
    }

    /// Updates the condition after a request.
    ///
    /// - Returns: The reason why that ended polling for every runner, if it did.
    package func update(_ change: (inout ActivationCondition, Duration) -> Void) -> MobileTokenError? {
        let now = self.now
        let (hasChanged, end) = self.state.withLock { state in state.following.update { change(&$0, now) } }
        if hasChanged {
            self.wakeRunner()
            self.wakeStandbys()
        }
        return end
    }

    // MARK: Steering

    /// Requests an early poll.
    ///
    /// - Returns: `false` if no runner polls, which makes this a no-op.
    @discardableResult
    package func pollSoon() -> Bool { self.change { $0.pollSoon(at: $1) } }

    /// Notes that a stream got its first reader or lost its last.
    package func setObserved(_ isObserved: Bool) { self.change { $0.setObserved(isObserved, at: $1) } }

    @discardableResult
    private func change(_ body: (inout PollingState, Duration) -> Void) -> Bool {
        let now = self.now
        let isRunning = self.state.withLock { state in
            body(&state.following, now)
            return state.following.isRunning
        }
        if isRunning { self.wakeRunner() }
        return isRunning
    }

    private func wakeRunner() {
        if let driver = self.state.withLock({ $0.driver }) { driver() } else { self.changed.raise() }
    }
}
