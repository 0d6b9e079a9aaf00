package import PowerAuth
import Synchronization

/// Drives a ``PollSchedule``: reads the clock, sleeps, polls.
///
/// It starts no task. Whoever calls ``run(_:poll:)`` lends its own, and of several callers one polls while the others
/// stand by to take over.
package final class Poller: Sendable {
    /// How to poll. Of several concurrent runs, the first one's plan holds.
    package struct Plan: Sendable {
        package var interval: Duration
        package var start: PollSchedule.Start
        package var pausesWhenUnobserved: Bool

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
        /// Polling makes no sense any more.
        case ended(MobileTokenError)
    }

    private struct State {
        /// Exists while anybody runs.
        var schedule: PollSchedule?
        var runners: [UInt64] = []
        var nextRunner: UInt64 = 0
        var pausesWhenUnobserved = false
        /// How many kinds of streams somebody reads.
        var observedStreams = 0
    }

    private let alarms: Alarms
    private let random: @Sendable () -> Double
    private let state = Mutex(State())
    /// Raised when the schedule has changed under the runner.
    private let changed = Signal()
    /// Raised when nobody polls: one runner may.
    private let turn = Signal(isRaised: true)

    package init(clock: any Clock<Duration>, random: @escaping @Sendable () -> Double) {
        self.alarms = .on(clock)
        self.random = random
    }

    package var isRunning: Bool { self.state.withLock { $0.schedule != nil } }
    package var isPaused: Bool { self.state.withLock { $0.schedule?.isPaused ?? false } }

    /// How many callers poll or stand by.
    package var runnerCount: Int { self.state.withLock { $0.runners.count } }

    /// The interval in use, which is at least the minimum.
    package var interval: Duration? { self.state.withLock { $0.schedule?.interval } }

    // MARK: Running

    /// Polls until the calling task is cancelled, or until `poll` says that it makes no sense any more.
    ///
    /// - Parameter poll: Is told how much later than planned it is called.
    /// - Returns: Why polling makes no sense any more, if it was not cancelled.
    package func run(_ plan: Plan, poll: (_ lag: Duration) async -> Outcome) async -> MobileTokenError? {
        let runner = self.enter(plan)
        // Cancellation takes effect on the schedule at once, so that whoever starts next does not inherit it.
        return await withTaskCancellationHandler {
            defer { self.leave(runner) }
            guard await self.turn.wait() else { return nil }
            defer { self.turn.raise() }
            return await self.drive(runner, poll: poll)
        } onCancel: {
            self.leave(runner)
        }
    }

    private func drive(_ runner: UInt64, poll: (_ lag: Duration) async -> Outcome) async -> MobileTokenError? {
        while !Task.isCancelled {
            switch self.step(runner) {
            case .poll(let lag):
                let outcome = await poll(lag)
                if case .ended(let error) = outcome { return error }
                self.finished(outcome)
            case .sleep(let deadline):
                await self.waitForChange(until: deadline)
            case .wait:
                _ = await self.changed.wait()
            }
        }
        return nil
    }

    private func enter(_ plan: Plan) -> UInt64 {
        let now = self.alarms.clock.now
        let random = self.random()
        return self.state.withLock { state in
            state.nextRunner += 1
            state.runners.append(state.nextRunner)
            if state.schedule == nil {
                state.pausesWhenUnobserved = plan.pausesWhenUnobserved
                state.schedule = PollSchedule(
                    every: plan.interval,
                    start: plan.start,
                    pauses: plan.pausesWhenUnobserved && state.observedStreams == 0 ? .unobserved : [],
                    at: now,
                    random: random
                )
            }
            return state.nextRunner
        }
    }

    private func leave(_ runner: UInt64) {
        self.state.withLock { state in
            state.runners.removeAll { $0 == runner }
            if state.runners.isEmpty { state.schedule = nil }
        }
    }

    private func step(_ runner: UInt64) -> PollSchedule.Step {
        let now = self.alarms.clock.now
        return self.state.withLock { state in
            guard state.runners.contains(runner) else { return .wait }  // cancelled just now
            return state.schedule?.step(at: now) ?? .wait
        }
    }

    private func finished(_ outcome: Outcome) {
        let now = self.alarms.clock.now
        let random = self.random()
        self.state.withLock { state in
            switch outcome {
            case _ where Task.isCancelled: state.schedule?.abandoned(at: now)
            case .succeeded: state.schedule?.finished(at: now, .succeeded, random: random)
            case .failed(let wait): state.schedule?.finished(at: now, .failed(retryAfter: wait), random: random)
            case .ended: break
            }
        }
    }

    private func waitForChange(until deadline: Duration) async {
        let alarm = self.alarms.set(self.changed, at: deadline)
        _ = await self.changed.wait()
        self.alarms.cancel(alarm)
    }

    // MARK: Steering

    /// Asks for an early poll. Does nothing while nobody polls.
    package func poke() { self.change { $0.schedule?.poke(at: $1) } }

    package func pause() { self.change { state, _ in state.schedule?.pause(.requested) } }

    package func resume() { self.change { $0.schedule?.resume(.requested, at: $1) } }

    /// The first reader of a stream came, or its last reader went.
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

    private func change(_ body: (inout sending State, Duration) -> Void) {
        let now = self.alarms.clock.now
        let isRunning = self.state.withLock { state in
            body(&state, now)
            return state.schedule != nil
        }
        if isRunning { self.changed.raise() }
    }
}
