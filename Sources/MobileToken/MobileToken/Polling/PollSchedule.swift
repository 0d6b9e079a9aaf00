import Basics
import PowerAuthClient

/// The times of polls. It decides; ``Poller`` reads the clock, sleeps, fetches and reports back.
///
/// Times are durations since a fixed moment. Starts are at least ``minimumInterval`` apart, whatever requests a poll. Successful
/// polls follow at the interval ±5 %, so that services started together drift apart. Polls that fall due while a request is in
/// flight are skipped.
///
/// After failures the next poll waits for the interval or the backoff, whichever is longer, and for the server's `Retry-After`. A
/// poke shortens only the interval, whether it comes between or during polls: the minimum interval, the backoff and `Retry-After`
/// still apply.
package struct PollSchedule: Sendable {
    package static let defaultInterval = Duration.seconds(7)
    package static let minimumInterval = Duration.seconds(5)
    /// The maximum delay that failures alone can cause.
    package static let maximumBackoff = Duration.seconds(30)

    /// The time of the first poll.
    package enum Start: Sendable {
        case atOnce
        case afterInterval
        /// A random time in the first interval, so that thousands of services do not poll together.
        case spread
    }

    package enum Step: Equatable, Sendable {
        /// Poll now, `lag` later than planned.
        case poll(lag: Duration)
        case sleep(until: Duration)
        /// No action before a poke, a resumption, or the end of the current poll.
        case wait
    }

    package enum Outcome: Equatable, Sendable {
        case succeeded
        case failed(retryAfter: Duration?)
    }

    package let interval: Duration

    private var due: Duration
    private var lastStart: Duration?
    /// The end of `Retry-After`.
    package private(set) var notBefore = Duration.zero
    /// The end of the backoff after the last failure.
    private var backoffEnd = Duration.zero
    private var failures = 0
    private var isPolling = false
    private var wasPoked = false
    package private(set) var isPaused: Bool

    /// - Parameters:
    ///   - interval: Raised to ``minimumInterval`` if shorter, cut to a century if longer.
    ///   - random: A number in 0..<1, which spreads the start.
    package init(
        every interval: Duration,
        start: Start,
        isPaused: Bool = false,
        at now: Duration,
        random: Double
    ) {
        self.interval = max(interval.bounded, Self.minimumInterval)
        self.isPaused = isPaused
        switch start {
        case .atOnce: self.due = now
        case .afterInterval: self.due = now + self.interval
        case .spread: self.due = now + self.interval * random
        }
    }

    /// The time of the next poll; `nil` while paused and during a poll.
    package var next: Duration? {
        !self.isPaused && !self.isPolling ? max(self.due, self.earliest) : nil
    }

    /// Returns the next action. After `.poll`, call ``record(at:_:random:)``.
    package mutating func step(at now: Duration) -> Step {
        guard let due = self.next else { return .wait }
        guard due <= now else { return .sleep(until: due) }
        self.isPolling = true
        self.wasPoked = false
        self.lastStart = now
        return .poll(lag: now - due)
    }

    /// Notes the end of the current poll.
    ///
    /// - Parameter random: A number in 0..<1, which spreads the next poll.
    package mutating func record(at now: Duration, _ outcome: Outcome, random: Double) {
        guard self.isPolling, let lastStart else { return }
        self.isPolling = false
        switch outcome {
        case .succeeded:
            self.failures = 0
            self.backoffEnd = .zero
            self.due = lastStart + self.spread(self.interval, random)
            if self.due < now {
                let passed = ((now - lastStart) / self.interval).rounded(.down)
                self.due = lastStart + self.interval * (passed + 1)
            }
            // This response may miss the subject of the poke.
            if self.wasPoked { self.due = now }
        case .failed(let retryAfter):
            self.failures += 1
            let backoff = Self.backoff(after: self.failures)
            self.backoffEnd = now + backoff
            self.due = now + self.spread(max(self.interval, backoff), random)
            if let retryAfter { self.wait(retryAfter, at: now, random: random) }
            if self.wasPoked { self.due = min(self.due, self.backoffEnd) }
        }
    }

    /// Notes that the server asked to wait, in response to a poll or another request. It ends no longer wait.
    package mutating func wait(_ retryAfter: Duration, at now: Duration, random: Double) {
        guard retryAfter > .zero else { return }
        let wait = retryAfter.believed
        // Later than asked, never earlier.
        self.notBefore = max(self.notBefore, now + min(wait + wait / 10 * random, .longestRetryAfter))
    }

    /// Notes that the current poll was cut off; the next runner makes up for it.
    package mutating func abandoned(at now: Duration) {
        guard self.isPolling else { return }
        self.isPolling = false
        self.due = now
    }

    /// Requests a poll as soon as the minimum interval, the backoff and `Retry-After` allow.
    package mutating func pollSoon(at now: Duration) {
        if self.isPolling {
            self.wasPoked = true
        } else {
            self.due = min(self.due, max(now, self.backoffEnd))
        }
    }

    package mutating func pause() { self.isPaused = true }

    /// Ends a pause. An overdue poll happens at once; an earlier plan for later stands.
    package mutating func resume(at now: Duration) {
        guard self.isPaused else { return }
        self.isPaused = false
        self.due = max(self.due, now)
    }

    private var earliest: Duration {
        guard let lastStart else { return self.notBefore }
        return max(lastStart + Self.minimumInterval, self.notBefore)
    }

    private func spread(_ wait: Duration, _ random: Double) -> Duration {
        max(wait + wait / 10 * (random - 0.5), Self.minimumInterval)
    }

    /// Returns 0.8 s × 2ⁿ, at most ``maximumBackoff``.
    package static func backoff(after failures: Int) -> Duration {
        min(.milliseconds(800) * (1 << min(failures, 10)), Self.maximumBackoff)
    }
}
