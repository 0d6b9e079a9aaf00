import Basics
package import PowerAuth

/// The limits on requests to one server. It decides; ``ServerLimiter`` reads the clock and waits.
///
/// Every request takes a place: so many a second, so many at once. Polls, of which there may be thousands, heed more:
///
/// - After failures in a row (5xx, 429, no response) or a `Retry-After` none is sent for a while. Then one is, as a probe;
///   when it succeeds the others follow, few at first and twice as many each second.
/// - When many tokens are refused, polls slow down to what renewing tokens is limited to: each refusal would lead to a
///   signed request.
///
/// Times are durations since one fixed moment.
package struct GuestRules: Sendable {
    package enum Step: Equatable, Sendable {
        case go
        case wait(until: Duration)
        /// Until a request ends.
        case waitForEnd
    }

    private enum Breaker {
        case closed(failures: Int)
        /// Nothing is polled before `until`.
        case open(until: Duration, failures: Int)
        /// One poll is under way to see whether the server is well; a lost one is given up.
        case probing(until: Duration, failures: Int)
    }

    /// So many failures in a row open the breaker.
    package static let failureLimit = 5
    /// The longest that failures alone keep polls back.
    package static let maximumBackoff = Duration.seconds(60)
    /// The time after which a probe is taken for lost.
    package static let probeWait = Duration.seconds(30)
    /// Recovery begins with the rate divided by this.
    package static let recoveryDivisor = 32.0
    /// So many refused tokens within ``stormLength`` are a storm.
    package static let stormCount = 10
    package static let stormLength = Duration.seconds(10)

    private let limits: OperationsFleet.ServerLimits
    private var share: OperationsFleet.ServerLimits
    private var requests: RateWindow
    private var requestsUnderWay = 0
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

    /// The caps are divided by the processes that are alive.
    package mutating func divide(among processes: Int) {
        let share = self.limits.share(among: processes)
        guard share != self.share else { return }
        self.share = share
        self.requests = self.requests.changed(to: share.requestsPerSecond)
        self.renewals.change(rate: share.tokenRenewalsPerSecond)
    }

    // MARK: Requests

    /// Before when the cap allows no other request.
    package var nextRequest: Duration { self.requests.next }

    /// Takes a place for a request, for which ``end(_:at:random:)`` has to follow.
    package mutating func enter(at now: Duration) -> Step {
        guard self.requestsUnderWay < max(1, self.share.concurrentRequests) else { return .waitForEnd }
        let next = self.nextRequest
        guard next <= now else { return .wait(until: next) }
        self.requests.take(at: now)
        self.requestsUnderWay += 1
        return .go
    }

    /// Notes that a request that has its place was not sent before this moment. It is in this second that it counts.
    package mutating func postpone(_ time: Duration, to later: Duration) { self.requests.move(time, to: later) }

    /// Takes back ``enter(at:)`` of that moment: no request was sent.
    package mutating func withdraw(at time: Duration) {
        self.freePlace()
        self.requests.giveBack(time)
    }

    /// Gives a place to others, whatever becomes of the request that has it.
    package mutating func freePlace() { self.requestsUnderWay = max(0, self.requestsUnderWay - 1) }

    /// - Parameter random: A number in 0..<1, which spreads what comes back.
    package mutating func end(_ outcome: RequestOutcome, at now: Duration, random: Double) {
        self.freePlace()
        self.record(outcome, at: now, random: random)
    }

    /// Takes in what a request tells about the server's health.
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
            self.breaker = .open(until: max(until, now + PollSchedule.believed(retryAfter)), failures: failures)
        }
    }

    private mutating func recordFailure(_ failures: Int, _ retryAfter: Duration?, at now: Duration, random: Double) {
        var isProbe = false
        if case .probing = self.breaker { isProbe = true }
        if let retryAfter, retryAfter > .zero {
            let wait = PollSchedule.believed(retryAfter)
            // Later than asked, never sooner.
            self.breaker = .open(
                until: now + min(wait + wait / 10 * random, PollSchedule.maximumRetryAfter),
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

    /// Returns whether a poll may begin now, for which ``endPoll()`` has to follow. Its requests still have to ``enter(at:)``.
    ///
    /// No more begin than requests may be under way, so that what waits at the door stays few.
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
        // A probe that ended before it sent anything, for want of the store say, has shown nothing: the next poll is one.
        if self.pollsUnderWay == 0, case .probing(_, let failures) = self.breaker {
            self.breaker = .open(until: .zero, failures: failures)
        }
    }

    /// Until when polls are held back, if they are.
    package func heldBackUntil(at now: Duration) -> Duration? {
        switch self.breaker {
        case .open(let until, _), .probing(let until, _): now < until ? until : nil
        case .closed: nil
        }
    }

    private mutating func nextPoll(at now: Duration) -> Duration {
        guard let lastPoll else { return self.nextRequest }
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
        // At full speed the requests themselves are what is counted.
        guard rate < self.share.requestsPerSecond else { return self.nextRequest }
        return max(lastPoll + .seconds(1 / max(rate, 0.001)), self.nextRequest)
    }

    // MARK: Refused tokens

    /// A token was refused. Returns whether a signed request may be made for another now.
    package mutating func mayRenewToken(at now: Duration) -> Bool {
        self.refusals.append(now)
        if self.refusals.count > Self.stormCount { self.refusals.removeFirst() }
        return self.renewals.begin(at: now)
    }

    /// - Parameter isAccepted: `true` if the server took the new token.
    package mutating func recordTokenRenewal(isAccepted: Bool, at now: Duration) {
        self.renewals.end(isAccepted: isAccepted, at: now)
    }

    package func isStorm(at now: Duration) -> Bool {
        guard self.refusals.count >= Self.stormCount, let first = self.refusals.first else { return false }
        return now - first < Self.stormLength
    }
}

/// The times at which a refused token may be replaced, which takes a signed request: so often a second, and not at all for a while when
/// new ones are refused too.
struct TokenRenewals: Sendable {
    /// So many new tokens refused in a row mean that the trouble is not the tokens'.
    static let vainLimit = 3
    static let vainWait = (first: Duration.seconds(30), longest: Duration.seconds(300))

    private var window: RateWindow
    private var vain = 0
    private var notBefore = Duration.zero

    init(rate: Double) { self.window = RateWindow(rate: rate) }

    mutating func change(rate: Double) { self.window = self.window.changed(to: rate) }

    mutating func begin(at now: Duration) -> Bool {
        guard self.notBefore <= now, self.window.next <= now else { return false }
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
