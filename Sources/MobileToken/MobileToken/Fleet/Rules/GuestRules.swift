package import PowerAuthClient

/// The limits on requests to one server. It decides; ``ServerLimiter`` reads the clock and waits.
///
/// Every request needs a permit, limited per second and in concurrency. Polls, of which there may be thousands, have further
/// limits:
///
/// - After consecutive failures (5xx, 429, no response) or a `Retry-After`, polls pause. Then one poll is a probe; if it
///   succeeds, the others follow, few at first and twice as many each second.
/// - After many refused tokens, polls slow down to the rate of token renewals, because each refusal would cause a signed request.
///
/// Times are durations since a fixed moment.
package struct GuestRules: Sendable {
    package enum Step: Equatable, Sendable {
        case go
        case wait(until: Duration)
        /// Wait until a request ends.
        case waitForEnd
    }

    private enum Breaker {
        case closed(failures: Int)
        /// Polls pause until `until`.
        case open(until: Duration, failures: Int)
        /// One poll probes the server; a lost probe is given up.
        case probing(until: Duration, failures: Int)
    }

    /// The number of consecutive failures that opens the breaker.
    package static let failureLimit = 5
    /// The longest pause that failures alone can cause.
    package static let maximumBackoff = Duration.seconds(60)
    /// The time after which a probe counts as lost.
    package static let probeWait = Duration.seconds(30)
    /// The divisor of the rate at the start of recovery.
    package static let recoveryDivisor = 32.0
    /// The number of refused tokens within ``stormLength`` that make a storm.
    package static let stormCount = 10
    package static let stormLength = Duration.seconds(10)

    private let limits: OperationsFleet.ServerLimits
    private var share: OperationsFleet.ServerLimits
    private var requests: RateWindow
    private var requestsUnderWay = 0
    /// The number of permits whose requests are not sent yet. Each counts in the second in which it is sent, which may be any.
    private var unsent = 0
    private var pollsUnderWay = 0
    private var breaker = Breaker.closed(failures: 0)
    private var recoveryStart: Duration?
    private var lastPoll: Duration?
    private var refusals: [Duration] = []
    private var renewals: TokenRenewals

    package init(_ limits: OperationsFleet.ServerLimits) {
        self.limits = limits
        self.share = limits
        self.requests = RateWindow(rate: limits.requestsPerSecond)
        self.renewals = TokenRenewals(rate: limits.tokenRenewalsPerSecond)
    }

    /// Divides the limits by the number of live processes.
    package mutating func divide(among processes: Int) {
        let share = self.limits.share(among: processes)
        guard share != self.share else { return }
        self.share = share
        self.requests = self.requests.changed(to: share.requestsPerSecond)
        self.renewals.change(rate: share.tokenRenewalsPerSecond)
    }

    // MARK: Requests

    /// Returns the earliest time that the rate limit allows another request.
    package func nextRequest(at now: Duration) -> Duration { self.requests.next(at: now, pending: self.unsent) }

    /// Takes a permit for a request; call ``send(at:)`` and ``end(_:at:random:)`` afterwards.
    package mutating func enter(at now: Duration) -> Step {
        guard self.requestsUnderWay < max(1, self.share.concurrentRequests) else { return .waitForEnd }
        let next = self.nextRequest(at: now)
        guard next <= now else { return .wait(until: next) }
        self.unsent += 1
        self.requestsUnderWay += 1
        return .go
    }

    /// Notes that a permitted request is sent.
    package mutating func send(at now: Duration) {
        self.unsent = max(0, self.unsent - 1)
        self.requests.take(at: now)
    }

    /// Undoes ``enter(at:)``: no request was sent.
    ///
    /// - Parameter time: The time of ``send(at:)``; `nil` if there was none.
    package mutating func withdraw(sentAt time: Duration?) {
        self.freePlace()
        if let time { self.requests.giveBack(time) } else { self.unsent = max(0, self.unsent - 1) }
    }

    /// Frees a permit, whatever the fate of its request.
    package mutating func freePlace() { self.requestsUnderWay = max(0, self.requestsUnderWay - 1) }

    /// - Parameter random: A number in 0..<1, which spreads what comes back.
    package mutating func end(_ outcome: RequestOutcome, at now: Duration, random: Double) {
        self.freePlace()
        self.record(outcome, at: now, random: random)
    }

    /// Records a request's outcome for the server's health.
    package mutating func record(_ outcome: RequestOutcome, at now: Duration, random: Double) {
        switch (outcome, self.breaker) {
        case (.canceled, _), (.unused, _): break
        case (.answered, .closed): self.breaker = .closed(failures: 0)
        case (.answered, .probing):
            self.breaker = .closed(failures: 0)
            self.recoveryStart = now
        case (.answered, .open): break  // sent before the trouble, or by hand
        case (.failed(let retryAfter), .closed(let failures)), (.failed(let retryAfter), .probing(_, let failures)):
            self.recordFailure(failures + 1, retryAfter, at: now, random: random)
        case (.failed(let retryAfter), .open(let until, let failures)):
            guard let retryAfter else { break }
            self.breaker = .open(until: max(until, now + retryAfter.believed), failures: failures)
        }
    }

    private mutating func recordFailure(_ failures: Int, _ retryAfter: Duration?, at now: Duration, random: Double) {
        var isProbe = false
        if case .probing = self.breaker { isProbe = true }
        if let retryAfter, retryAfter > .zero {
            let wait = retryAfter.believed
            // Later than asked, never earlier.
            self.breaker = .open(
                until: now + min(wait + wait / 10 * random, .longestRetryAfter),
                failures: failures
            )
        } else if isProbe || failures >= Self.failureLimit {
            let doublings = min(max(failures - Self.failureLimit, 0), 6)
            let wait = min(.seconds(1 << doublings), Self.maximumBackoff)
            self.breaker = .open(until: now + wait + wait / 2 * random, failures: failures)
        } else {
            self.breaker = .closed(failures: failures)
        }
    }

    // MARK: Polls

    /// Returns whether a poll may begin now; call ``endPoll()`` afterwards. Its requests still have to ``enter(at:)``.
    ///
    /// Polls are limited to the maximum of concurrent requests, so that few requests wait for a permit.
    package mutating func beginPoll(at now: Duration) -> Step {
        guard self.pollsUnderWay < max(1, self.share.concurrentRequests) else { return .waitForEnd }
        switch self.breaker {
        case .open(let until, _) where now < until: return .wait(until: until)
        case .probing(let until, _) where now < until: return .waitForEnd
        case .open(_, let failures), .probing(_, let failures):
            self.breaker = .probing(until: now + Self.probeWait, failures: failures)
        case .closed:
            let next = self.nextPoll(at: now)
            guard next <= now else { return .wait(until: next) }
        }
        self.lastPoll = now
        self.pollsUnderWay += 1
        return .go
    }

    package mutating func endPoll() {
        self.pollsUnderWay = max(0, self.pollsUnderWay - 1)
        // A probe that sent nothing, for example because the store failed, shows nothing: the next poll is one.
        if self.pollsUnderWay == 0, case .probing(_, let failures) = self.breaker {
            self.breaker = .open(until: .zero, failures: failures)
        }
    }

    /// The end of the pause of polls, if they are paused.
    package func heldBackUntil(at now: Duration) -> Duration? {
        switch self.breaker {
        case .open(let until, _), .probing(let until, _): now < until ? until : nil
        case .closed: nil
        }
    }

    private mutating func nextPoll(at now: Duration) -> Duration {
        let nextRequest = self.nextRequest(at: now)
        guard let lastPoll else { return nextRequest }
        var rate = self.share.requestsPerSecond
        if let recoveryStart {
            let doublings = (now - recoveryStart).components.seconds
            if doublings < 5 {
                rate /= Self.recoveryDivisor / Double(1 << max(doublings, 0))
            } else {
                self.recoveryStart = nil
            }
        }
        if self.isStorm(at: now) { rate = min(rate, self.share.tokenRenewalsPerSecond) }
        // At full speed, the limit on requests suffices.
        guard rate < self.share.requestsPerSecond else { return nextRequest }
        return max(lastPoll + .seconds(1 / max(rate, 0.001)), nextRequest)
    }

    // MARK: Refused tokens

    /// Notes a refused token. Returns whether a signed request may renew it now.
    package mutating func mayRenewToken(at now: Duration) -> Bool {
        self.refusals.append(now)
        if self.refusals.count > Self.stormCount { self.refusals.removeFirst() }
        return self.renewals.begin(at: now)
    }

    /// - Parameter isAccepted: `true` if the server accepted the new token.
    package mutating func recordTokenRenewal(isAccepted: Bool, at now: Duration) {
        self.renewals.end(isAccepted: isAccepted, at: now)
    }

    package func isStorm(at now: Duration) -> Bool {
        guard self.refusals.count >= Self.stormCount, let first = self.refusals.first else { return false }
        return now - first < Self.stormLength
    }
}

/// The limit on renewing refused tokens, each with a signed request: a rate per second, with a pause while new tokens are also
/// refused.
struct TokenRenewals: Sendable {
    /// The number of consecutive refused new tokens that show another cause than the tokens.
    static let vainLimit = 3
    static let vainWait = (first: Duration.seconds(30), longest: Duration.seconds(300))

    private var window: RateWindow
    private var vain = 0
    private var notBefore = Duration.zero

    init(rate: Double) { self.window = RateWindow(rate: rate) }

    mutating func change(rate: Double) { self.window = self.window.changed(to: rate) }

    mutating func begin(at now: Duration) -> Bool {
        guard self.notBefore <= now, self.window.next(at: now) <= now else { return false }
        self.window.take(at: now)
        return true
    }

    mutating func end(isAccepted: Bool, at now: Duration) {
        self.vain = isAccepted ? 0 : self.vain + 1
        guard self.vain >= Self.vainLimit else { return }
        let doublings = min(self.vain - Self.vainLimit, 4)
        self.notBefore = now + min(Self.vainWait.first * (1 << doublings), Self.vainWait.longest)
    }
}
