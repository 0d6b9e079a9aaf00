package import Coordination
package import PowerAuth
import Synchronization

/// Drives a ``PollSchedule``: reads the clock, sleeps, polls.
///
/// It starts no task. Callers of ``run(_:poll:)`` lend theirs, and of several callers one polls while the others stand by to
/// take over. Whether any runner polls is known here and nowhere else.
package final class Poller: Sendable {
    /// How to poll. Of several concurrent runs, the first one's plan holds.
    package struct Plan: Sendable {
        package var interval: Duration
        package var start: PollSchedule.Start
        package var pausesWhenUnobserved: Bool

        package init(interval: Duration, start: PollSchedule.Start) {
            (self.interval, self.start, self.pausesWhenUnobserved) = (interval, start, false)
        }

        package init(interval: Duration, delayStart: Bool = false, options: PollingOptions = []) {
            self.interval = interval
            self.start = delayStart ? .afterInterval : options.contains(.spreadStart) ? .spread : .atOnce
            self.pausesWhenUnobserved = options.contains(.pauseWhenUnobserved)
        }
    }

    /// What came of a poll.
    package enum Outcome: Sendable {
        case succeeded
        case failed(retryAfter: Duration?)
    }

    /// A runner's part in the polling, from ``enter(_:)`` to the end of ``run(_:poll:)``.
    package struct Runner: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    /// What a runner does next.
    package enum Step: Sendable {
        case poll(lag: Duration)
        case sleep(until: Duration)
        /// Nothing before the schedule changes.
        case wait
        /// The runner has no part any more, for a reason unless it left.
        case over(MobileTokenError?)
    }

    fileprivate struct State {
        /// Exists while there is a runner.
        var schedule: PollSchedule?
        var runners: [Runner] = []
        /// Runners that have not returned yet since polling ended under them, and why it did.
        var ended: [Runner: MobileTokenError] = [:]
        var nextRunner: UInt64 = 0
        var pausesWhenUnobserved = false
        /// Called instead of waking a task, when the runner whose turn it is has none.
        var driver: (@Sendable () -> Void)?
        /// Called when a turn that was not to be had has been given back.
        var standby: (@Sendable () -> Void)?
        /// Holds for all polling to come, whatever is started or stopped meanwhile.
        var isPauseRequested = false
        /// How many kinds of streams are being read.
        var observedStreams = 0
    }

    let alarms: Alarms
    private let random: @Sendable () -> Double
    private let state = Mutex(State())
    /// Raised when the schedule has changed under the runner.
    private let changed = Signal()
    /// Raised when no runner polls: one may.
    private let turn = Signal(isRaised: true)

    package convenience init(clock: any Clock<Duration>, random: @escaping @Sendable () -> Double) {
        self.init(alarms: .on(clock), random: random)
    }

    /// - Parameter alarms: Those of the caller that steps the schedule, so that both count time from the same moment.
    package init(alarms: Alarms, random: @escaping @Sendable () -> Double) {
        self.alarms = alarms
        self.random = random
    }

    /// What schedules are made on.
    package var clock: ServiceClock { self.alarms.clock }
    /// The time that schedules are made in.
    package var now: Duration { self.clock.now }

    package var isRunning: Bool { self.state.withLock { $0.schedule != nil } }
    package var isPaused: Bool { self.state.withLock { $0.schedule?.isPaused ?? $0.isPauseRequested } }

    /// How many callers poll or stand by.
    package var runnerCount: Int { self.state.withLock { $0.runners.count } }

    /// The interval in use, which is at least the minimum.
    package var interval: Duration? { self.state.withLock { $0.schedule?.interval } }

    // MARK: Running

    /// Takes part in polling from now on. ``run(_:poll:)`` has to follow, or ``leave(_:)``.
    package func enter(_ plan: Plan) -> Runner {
        let now = self.now
        let random = self.random()
        return self.state.withLock { state in
            state.nextRunner += 1
            let runner = Runner(number: state.nextRunner)
            state.runners.append(runner)
            if state.schedule == nil {
                state.pausesWhenUnobserved = plan.pausesWhenUnobserved
                state.schedule = PollSchedule(
                    every: plan.interval,
                    start: plan.start,
                    pauses: state.pauses,
                    at: now,
                    random: random
                )
            }
            return runner
        }
    }

    /// Polls until the calling task is canceled, the runner left, or polling ended for every runner.
    ///
    /// - Parameter poll: Gets how much later than planned it is called.
    /// - Returns: Why polling ended for every runner, if it did.
    package func run(_ runner: Runner, poll: (_ lag: Duration) async -> Outcome) async -> MobileTokenError? {
        // Cancellation takes effect on the schedule at once, so that the next runner does not inherit it.
        await withTaskCancellationHandler {
            defer { self.leave(runner) }
            guard await self.turn.wait() else { return nil }
            defer { self.giveTurnBack() }
            return await self.drive(runner, poll: poll)
        } onCancel: {
            self.leave(runner)
        }
    }

    private func drive(_ runner: Runner, poll: (_ lag: Duration) async -> Outcome) async -> MobileTokenError? {
        while !Task.isCancelled {
            self.changed.lower()  // the step sees everything that was raised before
            switch self.step(runner) {
            case .poll(let lag):
                let outcome = await poll(lag)
                self.finished(outcome)
            case .sleep(let deadline):
                await self.waitForChange(until: deadline)
            case .wait:
                _ = await self.changed.wait()
            case .over(let reason):
                return reason
            }
        }
        return nil
    }

    /// Returns whether the runner still takes part.
    package func isActive(_ runner: Runner) -> Bool {
        self.state.withLock { $0.runners.contains(runner) }
    }

    /// Gives up a runner's part, at once. The last one ends polling. The runner's task, if it has one, is to be canceled too.
    package func leave(_ runner: Runner) {
        self.state.withLock { state in
            state.ended[runner] = nil
            state.runners.removeAll { $0 == runner }
            if state.runners.isEmpty { state.schedule = nil }
        }
    }

    /// Ends polling for every runner that takes part now. One that enters later begins anew.
    ///
    /// - Returns: Whether there was any.
    package func end(for reason: MobileTokenError) -> Bool {
        let isOver = self.state.withLock { state in
            for runner in state.runners { state.ended[runner] = reason }
            state.runners = []
            return state.schedule.take() != nil
        }
        if isOver { self.wakeRunner() }
        return isOver
    }

    /// Returns what the runner whose turn it is does next. After `.poll`, ``finished(_:)`` has to follow.
    package func step(_ runner: Runner) -> Step {
        let now = self.now
        return self.state.withLock { state in
            guard state.runners.contains(runner) else { return .over(state.ended[runner]) }
            return switch state.schedule?.step(at: now) {
            case .poll(let lag): .poll(lag: lag)
            case .sleep(let deadline): .sleep(until: deadline)
            case .wait, nil: .wait
            }
        }
    }

    /// Notes that the poll under way has ended; a canceled task's was cut off.
    package func finished(_ outcome: Outcome) {
        let now = self.now
        let random = self.random()
        self.state.withLock { state in
            // A schedule that was begun since has no poll under way and ignores this one.
            switch outcome {
            case _ where Task.isCancelled: state.schedule?.abandoned(at: now)
            case .succeeded: state.schedule?.finished(at: now, .succeeded, random: random)
            case .failed(let wait): state.schedule?.finished(at: now, .failed(retryAfter: wait), random: random)
            }
        }
    }

    // MARK: Running without a task

    /// Takes the turn to poll for a caller that steps the schedule whenever it is time, instead of lending a task to
    /// ``run(_:poll:)``. ``letGo(_:)`` has to follow.
    ///
    /// - Parameter onChange: Called when the schedule has changed, for another step; or when the turn may be had.
    /// - Returns: `nil` while it is another runner's turn.
    package func drive(_ plan: Plan, onChange: @escaping @Sendable () -> Void) -> Runner? {
        self.state.withLock { $0.standby = onChange }
        // After that, so that a turn that is given back meanwhile is not missed.
        guard self.turn.take() else { return nil }
        self.state.withLock { ($0.driver, $0.standby) = (onChange, nil) }
        return self.enter(plan)
    }

    private func giveTurnBack() {
        self.turn.raise()
        self.state.withLock { $0.standby }?()
    }

    /// When the schedule polls next; `nil` while it is paused, while a poll is under way, and when no runner polls.
    package var nextPoll: Duration? { self.state.withLock { $0.schedule?.next } }

    /// Ends what ``drive(_:onChange:)`` began; without a runner, that it is called when the turn may be had.
    package func letGo(_ runner: Runner?) {
        self.state.withLock { $0.standby = nil }
        guard let runner else { return }
        self.state.withLock { $0.driver = nil }
        self.leave(runner)
        self.giveTurnBack()
    }

    private func wakeRunner() {
        if let driver = self.state.withLock({ $0.driver }) { driver() } else { self.changed.raise() }
    }

    private func waitForChange(until deadline: Duration) async {
        let alarm = self.alarms.set(self.changed, at: deadline)
        _ = await self.changed.wait()
        self.alarms.cancel(alarm)
    }

    // MARK: Steering

    /// Asks for an early poll.
    ///
    /// - Returns: `false` when no runner polls, and then nothing happens.
    @discardableResult
    package func poke() -> Bool { self.change { $0.schedule?.poke(at: $1) } }

    /// Holds polling back until ``resume()``, also polling that begins later.
    package func pause() {
        self.change { state, _ in
            state.isPauseRequested = true
            state.schedule?.pause(.requested)
        }
    }

    package func resume() {
        self.change { state, now in
            state.isPauseRequested = false
            state.schedule?.resume(.requested, at: now)
        }
    }

    /// Notes that the first reader of a stream came, or its last reader went.
    package func setObserved(_ isObserved: Bool) {
        self.change { state, now in
            state.observedStreams += isObserved ? 1 : -1
            guard state.pausesWhenUnobserved else { return }
            if state.observedStreams > 0 {
                state.schedule?.resume(.unobserved, at: now)
            } else {
                state.schedule?.pause(.unobserved)
            }
        }
    }

    @discardableResult
    private func change(_ body: (inout sending State, Duration) -> Void) -> Bool {
        let now = self.now
        let isRunning = self.state.withLock { state in
            body(&state, now)
            return state.schedule != nil
        }
        if isRunning { self.wakeRunner() }
        return isRunning
    }
}

extension Poller.State {
    /// Why a schedule that begins now would hold back.
    fileprivate var pauses: PollSchedule.PauseReasons {
        var pauses: PollSchedule.PauseReasons = []
        if self.isPauseRequested { pauses.insert(.requested) }
        if self.pausesWhenUnobserved, self.observedStreams == 0 { pauses.insert(.unobserved) }
        return pauses
    }
}
