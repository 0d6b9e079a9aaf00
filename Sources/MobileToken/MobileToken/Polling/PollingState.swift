package import MobileTokenErrors

/// The polling state of one activation, alone or in a fleet: condition, schedule and runners. One runner polls; the others stand
/// by.
///
/// It decides; ``Poller`` reads the clock, sleeps and sends. ``OperationsService`` owns the list and the order of events.
package struct PollingState: Sendable {
    /// The settings of polling. The first runner's settings apply until all have left.
    package struct Plan: Sendable {
        package var interval: Duration
        package var start: PollSchedule.Start
        package var pausesWhenUnobserved = false
        /// Indicates whether the status is requested before the first poll: a store restored from a backup looks like any other.
        package var comparesCounters = false
        /// The interval between status requests while the activation is blocked.
        package var blockedWait = Duration.seconds(30)

        package init(interval: Duration, start: PollSchedule.Start) {
            (self.interval, self.start) = (interval, start)
        }

        package init(interval: Duration, delayStart: Bool = false, options: OperationsService.PollingOptions = []) {
            let start: PollSchedule.Start =
                delayStart ? .afterInterval : options.contains(.spreadStart) ? .spread : .atOnce
            self.init(interval: interval, start: start)
            self.pausesWhenUnobserved = options.contains(.pauseWhenUnobserved)
        }
    }

    /// A runner's participation, from ``enter(_:at:random:)`` to ``leave(_:)``.
    package struct Runner: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    package enum Request: Sendable, Hashable {
        case poll(lag: Duration)
        /// A status request, which may sign to synchronize the counter only if `maySign`.
        case status(maySign: Bool)
    }

    package enum Step: Sendable {
        case send(Request)
        case sleep(until: Duration)
        /// No action until the schedule changes.
        case wait
        /// The runner has ended, with an error unless it left.
        case over(MobileTokenError?)
    }

    package enum Outcome: Sendable {
        case succeeded
        case failed(retryAfter: Duration?)
        case canceled
    }

    package private(set) var condition = ActivationCondition.opened
    private var plan: Plan?
    /// The schedule, while there is a runner.
    private var schedule: PollSchedule?
    private var runners: [Runner] = []
    /// Runners that polling ended for and that have not returned yet, with the reason.
    private var ended: [Runner: MobileTokenError] = [:]
    private var nextRunner: UInt64 = 0
    /// The number of kinds of streams being read.
    private var observedStreams = 0
    /// Indicates whether the status can be requested, which a test's activation may not support.
    private let canAskStatus: Bool

    package init(canAskStatus: Bool) {
        self.canAskStatus = canAskStatus
    }

    // MARK: Runners

    package var runnerCount: Int { self.runners.count }
    package var isRunning: Bool { self.schedule != nil }

    package func isActive(_ runner: Runner) -> Bool { self.runners.contains(runner) }

    /// Adds a runner. The first runner's first poll checks the activation's condition again.
    ///
    /// - Parameter random: A number in 0..<1, which spreads the start.
    package mutating func enter(_ plan: Plan, at now: Duration, random: Double) -> Runner {
        self.nextRunner += 1
        let runner = Runner(number: self.nextRunner)
        self.runners.append(runner)
        guard self.schedule == nil else { return runner }
        self.plan = plan
        if self.condition.state.phase != .active { self.condition = .opened }
        self.condition.blockedWait = plan.blockedWait
        self.schedule = PollSchedule(
            every: plan.interval,
            start: plan.start,
            isPaused: plan.pausesWhenUnobserved && self.observedStreams == 0,
            at: now,
            random: random
        )
        return runner
    }

    /// Removes a runner. The last one ends polling.
    package mutating func leave(_ runner: Runner) {
        self.ended[runner] = nil
        self.runners.removeAll { $0 == runner }
        if self.runners.isEmpty { self.schedule = nil }
    }

    // MARK: Steps

    /// Returns the next step of the runner that has the turn. After `.send(.poll)`, call ``record(_:at:random:)``.
    package mutating func step(_ runner: Runner, at now: Duration) -> Step {
        guard self.runners.contains(runner) else { return .over(self.ended[runner]) }
        if let time = self.question(at: now) {
            return time <= now ? .send(.status(maySign: true)) : .sleep(until: time)
        }
        if self.comparesFirst(at: now) { return .send(.status(maySign: false)) }
        switch self.schedule?.step(at: now) {
        case .poll(let lag): return .send(.poll(lag: lag))
        case .sleep(let deadline): return .sleep(until: deadline)
        case .wait, nil: return .wait
        }
    }

    /// Returns the time of the next request; `nil` while polling is paused, during a poll, and without runners.
    package func next(at now: Duration) -> Duration? { self.question(at: now) ?? self.schedule?.next }

    /// Returns the time of a status request instead of a poll; `nil` if polls continue.
    private func question(at now: Duration) -> Duration? {
        guard self.canAskStatus, let schedule, schedule.next != nil,
            case .askStatus(let time) = self.condition.step(at: now)
        else { return nil }
        return max(time, schedule.notBefore)
    }

    private func comparesFirst(at now: Duration) -> Bool {
        guard self.canAskStatus, self.plan?.comparesCounters == true, let next = self.schedule?.next else {
            return false
        }
        return next <= now && self.condition.comparesFirst(at: now)
    }

    /// Notes the end of the current poll. A schedule created since has none, and ignores it.
    package mutating func record(_ outcome: Outcome, at now: Duration, random: Double) {
        switch outcome {
        case .succeeded: self.schedule?.record(at: now, .succeeded, random: random)
        case .failed(let wait): self.schedule?.record(at: now, .failed(retryAfter: wait), random: random)
        case .canceled: self.schedule?.abandoned(at: now)
        }
    }

    /// Notes that the server asked to wait, in response to a fetch or a status request. Polls wait, too.
    package mutating func wait(_ retryAfter: Duration, at now: Duration, random: Double) {
        self.schedule?.wait(retryAfter, at: now, random: random)
    }

    /// Updates the condition after a request, and ends polling for all runners if it cannot succeed.
    ///
    /// - Returns: `true` if the phase changed, and the reason if that ended any runner's polling.
    package mutating func update(
        _ change: (inout ActivationCondition) -> Void
    ) -> (hasChanged: Bool, end: MobileTokenError?) {
        let before = self.condition.state.phase
        change(&self.condition)
        let state = self.condition.state
        guard state.phase != before else { return (false, nil) }
        guard state.phase.isEnded, let reason = state.reason, self.isRunning else { return (true, nil) }
        for runner in self.runners { self.ended[runner] = reason }
        self.runners = []
        self.schedule = nil
        return (true, reason)
    }

    // MARK: Steering

    package var isPaused: Bool { self.schedule?.isPaused ?? false }

    package func isAskedToWait(at now: Duration) -> Bool { self.schedule.map { now < $0.notBefore } ?? false }

    package mutating func pollSoon(at now: Duration) { self.schedule?.pollSoon(at: now) }

    /// Notes that a stream got its first reader or lost its last.
    package mutating func setObserved(_ isObserved: Bool, at now: Duration) {
        self.observedStreams += isObserved ? 1 : -1
        guard self.plan?.pausesWhenUnobserved == true else { return }
        if self.observedStreams > 0 {
            self.schedule?.resume(at: now)
        } else {
            self.schedule?.pause()
        }
    }
}
