import MobileToken
import PowerAuth
import Testing

struct RateWindowTests {
    /// Takes as soon as it may, as often as told.
    private func times(rate: Double, count: Int) -> [Duration] {
        var window = RateWindow(rate: rate)
        var now = Duration.seconds(1)
        return (0..<count).map { _ in
            now = max(now, window.next(at: now))
            window.take(at: now)
            return now
        }
    }

    @Test(arguments: [0.2, 1, 3, 9.9, 10, 15, 25, 99, 100, 333, 1430])
    func noSecondHoldsMoreThanTheRate(rate: Double) {
        let times = self.times(rate: rate, count: Int(rate * 3) + 20)
        let most = times.map { start in times.count { $0 >= start && $0 < start + .seconds(1) } }.max() ?? 0
        #expect(Double(most) <= max(rate, 1))
    }

    @Test(arguments: [0.5, 1, 10, 15, 100, 1430])
    func nearlyAllOfTheRateCanBeUsed(rate: Double) throws {
        let times = self.times(rate: rate, count: Int(rate * 10) + 10)
        let seconds = (try #require(times.last) - .seconds(1)) / .seconds(1)
        #expect(Double(times.count) / seconds >= 0.75 * rate)
    }

    @Test func anotherRateRemembersWhatWas() {
        var window = RateWindow(rate: 100)
        for _ in 0..<10 { window.take(at: .seconds(5)) }
        #expect(window.next(at: .seconds(5)) == .milliseconds(5100))
        #expect(window.changed(to: 50).next(at: .seconds(5)) == .milliseconds(5100))
        #expect(window.changed(to: 200).next(at: .seconds(5)) == .zero)
        #expect(window.changed(to: 1).next(at: .seconds(5)) == .seconds(6))
    }

    @Test(arguments: [0.5, 3, 50]) func whatDidNotHappenLeavesNoTrace(rate: Double) {
        var window = RateWindow(rate: rate)
        var times: [Duration] = []
        var now = Duration.zero
        for number in 0..<(6 * window.count) {
            now = max(now, window.next(at: now))
            window.take(at: now)
            if number.isMultiple(of: 3) { window.giveBack(now) } else { times.append(now) }
        }
        for start in times { #expect(times.count { $0 >= start && $0 < start + window.length } <= window.count) }
        // All but a third of the rate is used: what was given back delays nothing.
        #expect(now <= window.length * 5)
    }

    /// The ring of the latest events says the same as a plain list of all, with as many at present as are pending.
    @Test(arguments: [3, 50, 120]) func pendingEventsMayHappenNow(rate: Double) {
        var window = RateWindow(rate: rate)
        var times: [Duration] = []
        var numbers = SystemRandomNumberGenerator()
        for second in 1...200 {
            let now = Duration.seconds(second)
            if Bool.random(using: &numbers) {
                window.take(at: now)
                times.append(now)
            }
            let pending = Int.random(in: 0...(window.count + 1), using: &numbers)
            let latest = (times + Array(repeating: now, count: pending)).suffix(window.count)
            let oldest = latest.count < window.count ? nil : latest.first
            #expect(window.next(at: now, pending: pending) == oldest.map { $0 + window.length } ?? .zero)
        }
    }

    @Test(arguments: [0, -1, .nan, .infinity]) func anyRateIsARate(rate: Double) {
        var window = RateWindow(rate: rate)
        window.take(at: .zero)
        #expect(window.next(at: .zero) <= .seconds(1000))
    }
}

struct GuestRulesTests {
    private var rules = GuestRules(
        OperationsFleet.ServerLimits(requestsPerSecond: 100, concurrentRequests: 4, tokenRenewalsPerSecond: 2)
    )

    private static let unwell = RequestOutcome.failed(retryAfter: nil)

    /// Sends a request when that is allowed.
    private mutating func request(at now: Duration) -> GuestRules.Step {
        let step = self.rules.enter(at: now)
        if step == .go { self.rules.send(at: now) }
        return step
    }

    /// Polls once when that is allowed.
    private mutating func poll(_ outcome: RequestOutcome, at now: Duration) -> GuestRules.Step {
        let step = self.rules.beginPoll(at: now)
        guard step == .go else { return step }
        #expect(self.request(at: now) == .go)
        self.rules.end(outcome, at: now, random: 0)
        self.rules.endPoll()
        return .go
    }

    @Test mutating func soManyRequestsAtOnceAndSoManyASecond() {
        for _ in 0..<4 { #expect(self.request(at: .zero) == .go) }
        #expect(self.request(at: .zero) == .waitForEnd)
        for _ in 0..<4 { self.rules.end(.answered, at: .zero, random: 0) }
        for _ in 0..<6 {
            #expect(self.request(at: .zero) == .go)
            self.rules.end(.answered, at: .zero, random: 0)
        }
        #expect(self.request(at: .zero) == .wait(until: .milliseconds(100)))
        #expect(self.request(at: .milliseconds(100)) == .go)
    }

    @Test mutating func aRequestCountsInTheSecondInWhichItIsSent() {
        func requests(_ count: Int, at now: Duration) {
            for _ in 0..<count {
                #expect(self.request(at: now) == .go)
                self.rules.end(.answered, at: now, random: 0)
            }
        }
        requests(7, at: .zero)
        for _ in 0..<3 { #expect(self.rules.enter(at: .zero) == .go) }
        // They may still be sent at once.
        #expect(self.rules.enter(at: .zero) == .wait(until: .milliseconds(100)))
        self.rules.withdraw(sentAt: nil)
        for _ in 0..<2 {
            self.rules.send(at: .seconds(1))
            self.rules.end(.answered, at: .seconds(1), random: 0)
        }
        requests(8, at: .seconds(1))
        #expect(self.rules.enter(at: .milliseconds(1_050)) == .wait(until: .milliseconds(1_100)))
    }

    @Test mutating func aCanceledRequestGivesItsPlaceBack() {
        for _ in 0..<4 { _ = self.request(at: .zero) }
        self.rules.end(.canceled, at: .zero, random: 0)
        #expect(self.request(at: .zero) == .go)
    }

    @Test mutating func noMorePollsBeginThanMayBeUnderWay() {
        for _ in 0..<4 { #expect(self.rules.beginPoll(at: .zero) == .go) }
        #expect(self.rules.beginPoll(at: .zero) == .waitForEnd)
        self.rules.endPoll()
        #expect(self.rules.beginPoll(at: .zero) == .go)
    }

    @Test mutating func processesDivideTheCaps() {
        self.rules.divide(among: 2)
        for _ in 0..<2 { #expect(self.request(at: .zero) == .go) }
        #expect(self.request(at: .zero) == .waitForEnd)
        self.rules.divide(among: 1)
        #expect(self.request(at: .zero) == .go)
    }

    @Test mutating func failuresInARowHoldPollsBackAndOneProbes() {
        for _ in 0..<4 { #expect(self.poll(Self.unwell, at: .zero) == .go) }
        #expect(self.poll(.answered, at: .zero) == .go)  // the row begins anew
        for _ in 0..<5 { #expect(self.poll(Self.unwell, at: .seconds(1)) == .go) }
        #expect(self.rules.beginPoll(at: .seconds(1)) == .wait(until: .seconds(2)))
        #expect(self.rules.heldBackUntil(at: .seconds(1)) == .seconds(2))
        // Requests by hand go on.
        #expect(self.request(at: .seconds(1.5)) == .go)
        self.rules.end(.answered, at: .seconds(1.5), random: 0)

        #expect(self.rules.beginPoll(at: .seconds(2)) == .go)
        #expect(self.rules.beginPoll(at: .seconds(2)) == .waitForEnd)
        #expect(self.request(at: .seconds(2)) == .go)
        self.rules.end(Self.unwell, at: .seconds(3), random: 0)
        self.rules.endPoll()
        #expect(self.rules.beginPoll(at: .seconds(3)) == .wait(until: .seconds(5)))
    }

    @Test mutating func theWaitDoublesUpToAMinute() {
        for _ in 0..<4 { _ = self.poll(Self.unwell, at: .zero) }
        var now = Duration.zero
        var waits: [Duration] = []
        for _ in 0..<9 {
            #expect(self.poll(Self.unwell, at: now) == .go)
            guard case .wait(let time) = self.rules.beginPoll(at: now) else { break }
            waits.append(time - now)
            now = time
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60, 60].map { .seconds($0) })
    }

    @Test mutating func aProbeThatSentNothingIsFollowedByAnother() {
        for _ in 0..<5 { _ = self.poll(Self.unwell, at: .zero) }
        #expect(self.rules.beginPoll(at: .seconds(1)) == .go)
        #expect(self.rules.beginPoll(at: .seconds(1)) == .waitForEnd)
        self.rules.endPoll()
        #expect(self.rules.beginPoll(at: .seconds(1)) == .go)
        #expect(self.rules.beginPoll(at: .seconds(1)) == .waitForEnd)
    }

    @Test mutating func aLostProbeIsFollowedByAnother() {
        for _ in 0..<5 { _ = self.poll(Self.unwell, at: .zero) }
        #expect(self.rules.beginPoll(at: .seconds(1)) == .go)
        #expect(self.rules.beginPoll(at: .seconds(30)) == .waitForEnd)
        #expect(self.rules.beginPoll(at: .seconds(31)) == .go)
    }

    @Test mutating func retryAfterHoldsPollsBackAtOnceAndIsNeverCutShort() {
        #expect(self.poll(.failed(retryAfter: .seconds(20)), at: .zero) == .go)
        #expect(self.rules.beginPoll(at: .seconds(19)) == .wait(until: .seconds(20)))
        // One that was under way brings other news.
        _ = self.request(at: .seconds(1))
        self.rules.end(.failed(retryAfter: .seconds(60)), at: .seconds(1), random: 0)
        _ = self.request(at: .seconds(2))
        self.rules.end(.failed(retryAfter: .seconds(1)), at: .seconds(2), random: 0)
        #expect(self.rules.beginPoll(at: .seconds(21)) == .wait(until: .seconds(61)))
    }

    @Test mutating func recoveryBeginsSlowlyAndDoubles() {
        #expect(self.poll(.failed(retryAfter: .seconds(20)), at: .zero) == .go)
        #expect(self.poll(.answered, at: .seconds(20)) == .go)
        var counts: [Int] = []
        var now = Duration.seconds(20)
        for second in 1...6 {
            var count = 0
            while now < .seconds(20 + second) {
                switch self.poll(.answered, at: now) {
                case .go: count += 1
                case .wait(let time): now = time
                case .waitForEnd: return
                }
            }
            counts.append(count)
        }
        #expect(counts[0] <= 4)
        for (one, next) in zip(counts, counts.dropFirst()) { #expect(next <= max(2 * one + 2, 4)) }
        #expect(counts[5] == 100)
    }

    @Test mutating func tokensAreRenewedSoOftenASecond() {
        #expect(self.rules.mayRenewToken(at: .zero) == true)
        #expect(self.rules.mayRenewToken(at: .milliseconds(400)) == false)
        #expect(self.rules.mayRenewToken(at: .milliseconds(500)) == true)
    }

    @Test mutating func newTokensThatAreRefusedTooEndRenewing() {
        for second in 0..<2 {
            #expect(self.rules.mayRenewToken(at: .seconds(second)) == true)
            self.rules.recordTokenRenewal(isAccepted: false, at: .seconds(second))
        }
        #expect(self.rules.mayRenewToken(at: .seconds(2)) == true)
        self.rules.recordTokenRenewal(isAccepted: true, at: .seconds(2))
        for second in 3..<6 {
            #expect(self.rules.mayRenewToken(at: .seconds(second)) == true)
            self.rules.recordTokenRenewal(isAccepted: false, at: .seconds(second))
        }
        #expect(self.rules.mayRenewToken(at: .seconds(34)) == false)
        #expect(self.rules.mayRenewToken(at: .seconds(35)) == true)
        self.rules.recordTokenRenewal(isAccepted: false, at: .seconds(35))
        #expect(self.rules.mayRenewToken(at: .seconds(94)) == false)
        #expect(self.rules.mayRenewToken(at: .seconds(95)) == true)
    }

    @Test mutating func aStormOfRefusedTokensSlowsPollsToTheRateOfRenewals() {
        for _ in 0..<10 { _ = self.rules.mayRenewToken(at: .seconds(1)) }
        #expect(self.rules.isStorm(at: .seconds(1)))
        #expect(self.poll(.answered, at: .seconds(1)) == .go)
        #expect(self.rules.beginPoll(at: .seconds(1)) == .wait(until: .seconds(1.5)))
        #expect(!self.rules.isStorm(at: .seconds(11)))
        #expect(self.poll(.answered, at: .seconds(11)) == .go)
        #expect(self.poll(.answered, at: .seconds(11)) == .go)
    }
}
