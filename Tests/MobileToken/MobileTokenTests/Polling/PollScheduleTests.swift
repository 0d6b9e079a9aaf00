import Basics
import MobileToken
import Testing

@Suite struct PollScheduleTests {
    private static let exact = 0.5  // no jitter

    private func schedule(
        every interval: Duration = .seconds(7),
        start: PollSchedule.Start = .atOnce
    ) -> PollSchedule {
        PollSchedule(every: interval, start: start, at: .zero, random: Self.exact)
    }

    @Test func theFirstPollIsAtOnceAndTheNextAnIntervalAfterItsStart() {
        var schedule = self.schedule()
        #expect(schedule.step(at: .zero) == .poll(lag: .zero))
        schedule.record(at: .seconds(1), .succeeded, random: Self.exact)
        #expect(schedule.step(at: .seconds(1)) == .sleep(until: .seconds(7)))
        #expect(schedule.step(at: .seconds(7)) == .poll(lag: .zero))
    }

    @Test func aDelayedStartWaitsForOneInterval() {
        var schedule = self.schedule(start: .afterInterval)
        #expect(schedule.step(at: .zero) == .sleep(until: .seconds(7)))
    }

    @Test func aSpreadStartFillsTheFirstInterval() {
        for (random, expected) in [(0.0, Duration.zero), (0.25, .seconds(2)), (0.75, .seconds(6))] {
            var schedule = PollSchedule(every: .seconds(8), start: .spread, at: .zero, random: random)
            #expect(schedule.step(at: .zero) == (expected == .zero ? .poll(lag: .zero) : .sleep(until: expected)))
        }
    }

    @Test func anIntervalBelowTheMinimumIsRaised() {
        var schedule = self.schedule(every: .seconds(1))
        #expect(schedule.interval == .seconds(5))
        #expect(schedule.step(at: .zero) == .poll(lag: .zero))
        schedule.record(at: .zero, .succeeded, random: 0)
        #expect(schedule.step(at: .zero) == .sleep(until: .seconds(5)))
    }

    @Test func jitterStaysWithinATwentiethAndAboveTheMinimum() {
        for (random, expected) in [(0.0, 19.0), (0.5, 20.0), (0.75, 20.5)] {
            var schedule = self.schedule(every: .seconds(20))
            _ = schedule.step(at: .zero)
            schedule.record(at: .zero, .succeeded, random: random)
            #expect(schedule.step(at: .zero) == .sleep(until: .seconds(expected)))
        }
    }

    @Test func aSlowAnswerSkipsTicksInsteadOfPilingThemUp() {
        var schedule = self.schedule()
        #expect(schedule.step(at: .zero) == .poll(lag: .zero))
        #expect(schedule.step(at: .seconds(8)) == .wait)  // one request at a time
        schedule.record(at: .seconds(16), .succeeded, random: Self.exact)
        #expect(schedule.step(at: .seconds(16)) == .sleep(until: .seconds(21)))
        #expect(schedule.step(at: .seconds(22)) == .poll(lag: .seconds(1)))
    }

    @Test func failuresBackOffUpToHalfAMinuteAndASuccessForgivesThem() {
        var schedule = self.schedule()
        var now = Duration.zero
        // 0.8 s × 2ⁿ passes the interval at the fourth failure.
        for expected in [7_000, 7_000, 7_000, 12_800, 25_600, 30_000, 30_000, 30_000] {
            #expect(schedule.step(at: now) == .poll(lag: .zero))
            schedule.record(at: now, .failed(retryAfter: nil), random: Self.exact)
            let next = now + .milliseconds(expected)
            #expect(schedule.step(at: now) == .sleep(until: next))
            now = next
        }
        #expect(schedule.step(at: now) == .poll(lag: .zero))
        schedule.record(at: now, .succeeded, random: Self.exact)
        #expect(schedule.step(at: now) == .sleep(until: now + .seconds(7)))
        // The next failure is a first one.
        now += .seconds(7)
        #expect(schedule.step(at: now) == .poll(lag: .zero))
        schedule.record(at: now, .failed(retryAfter: nil), random: Self.exact)
        #expect(schedule.step(at: now) == .sleep(until: now + .seconds(7)))
    }

    @Test func aThousandFailuresDoNotOverflow() {
        var schedule = self.schedule()
        var now = Duration.zero
        for _ in 0..<1_000 {
            #expect(schedule.step(at: now) != .wait)
            schedule.record(at: now, .failed(retryAfter: nil), random: Self.exact)
            now += .seconds(30)
        }
    }

    @Test func backoffNeverPollsMoreOftenThanTheInterval() {
        var schedule = self.schedule(every: .seconds(60))
        _ = schedule.step(at: .zero)
        schedule.record(at: .seconds(2), .failed(retryAfter: nil), random: Self.exact)
        #expect(schedule.step(at: .seconds(2)) == .sleep(until: .seconds(62)))
    }

    @Test func retryAfterIsObeyedEvenWhenPoked() {
        var schedule = self.schedule()
        _ = schedule.step(at: .zero)
        schedule.record(at: .seconds(1), .failed(retryAfter: .seconds(120)), random: 0)
        #expect(schedule.step(at: .seconds(1)) == .sleep(until: .seconds(121)))
        schedule.pollSoon(at: .seconds(50))
        #expect(schedule.step(at: .seconds(50)) == .sleep(until: .seconds(121)))
        #expect(schedule.step(at: .seconds(121)) == .poll(lag: .zero))
    }

    @Test(arguments: [0, 0.5, 0.999])
    func aRetryAfterIsBelievedForAQuarterOfAnHour(random: Double) {
        var schedule = self.schedule()
        _ = schedule.step(at: .zero)
        schedule.record(at: .zero, .failed(retryAfter: .seconds(86_400)), random: random)
        #expect(schedule.step(at: .zero) == .sleep(until: .seconds(15 * 60)))
    }

    @Test func aSenselessRetryAfterIsCapped() {
        var schedule = self.schedule()
        _ = schedule.step(at: .zero)
        schedule.record(at: .zero, .failed(retryAfter: .seconds(Int64.max)), random: 0)
        #expect(schedule.step(at: .zero) == .sleep(until: .longestRetryAfter))
        #expect(Duration.seconds(86_400).believed == .longestRetryAfter)
        var negative = self.schedule()
        _ = negative.step(at: .zero)
        negative.record(at: .zero, .failed(retryAfter: .seconds(-5)), random: Self.exact)
        #expect(negative.step(at: .zero) == .sleep(until: .seconds(7)))
    }

    @Test func aPokeBringsThePollForwardButKeepsTheMinimumDistance() {
        var schedule = self.schedule(every: .seconds(60))
        _ = schedule.step(at: .zero)
        schedule.record(at: .seconds(1), .succeeded, random: Self.exact)
        schedule.pollSoon(at: .seconds(2))
        #expect(schedule.step(at: .seconds(2)) == .sleep(until: .seconds(5)))
        schedule.pollSoon(at: .seconds(3))
        #expect(schedule.step(at: .seconds(3)) == .sleep(until: .seconds(5)))
        #expect(schedule.step(at: .seconds(5)) == .poll(lag: .zero))
        schedule.record(at: .seconds(5), .succeeded, random: Self.exact)
        schedule.pollSoon(at: .seconds(30))
        #expect(schedule.step(at: .seconds(30)) == .poll(lag: .zero))
    }

    @Test func aPokeDuringAPollAsksOnceMoreBecauseTheAnswerMayBeTooOld() {
        var schedule = self.schedule(every: .seconds(60))
        _ = schedule.step(at: .zero)
        schedule.pollSoon(at: .seconds(1))
        #expect(schedule.step(at: .seconds(1)) == .wait)
        schedule.record(at: .seconds(2), .succeeded, random: Self.exact)
        #expect(schedule.step(at: .seconds(2)) == .sleep(until: .seconds(5)))
        #expect(schedule.step(at: .seconds(5)) == .poll(lag: .zero))
        schedule.record(at: .seconds(6), .succeeded, random: Self.exact)
        #expect(schedule.step(at: .seconds(6)) == .sleep(until: .seconds(65)))
    }

    @Test func aPokeDuringAPollThatFailsIsRemembered() {
        var schedule = self.schedule(every: .seconds(60))
        _ = schedule.step(at: .zero)
        schedule.pollSoon(at: .seconds(1))
        schedule.record(at: .seconds(2), .failed(retryAfter: nil), random: Self.exact)
        #expect(schedule.step(at: .seconds(2)) == .sleep(until: .seconds(5)))  // the minimum distance
        #expect(schedule.step(at: .seconds(5)) == .poll(lag: .zero))
        schedule.record(at: .seconds(6), .failed(retryAfter: nil), random: Self.exact)
        #expect(schedule.step(at: .seconds(6)) == .sleep(until: .seconds(66)))  // once is enough
    }

    @Test func aPokeDuringAPollThatFailsWaitsForBackoffAndRetryAfter() {
        var schedule = self.schedule(every: .seconds(60))
        var now = Duration.zero
        for backoff: Duration in [
            .seconds(5), .seconds(5), .milliseconds(6_400), .milliseconds(12_800), .milliseconds(25_600), .seconds(30),
        ] {
            #expect(schedule.step(at: now) == .poll(lag: .zero))
            schedule.pollSoon(at: now)
            schedule.record(at: now, .failed(retryAfter: nil), random: Self.exact)
            now += backoff
            #expect(schedule.step(at: now - .milliseconds(1)) == .sleep(until: now))
        }
        #expect(schedule.step(at: now) == .poll(lag: .zero))
        schedule.pollSoon(at: now)
        schedule.record(at: now, .failed(retryAfter: .seconds(100)), random: 0)
        #expect(schedule.step(at: now) == .sleep(until: now + .seconds(100)))
    }

    @Test func aPokeAfterAFailureWaitsForTheBackoffToo() {
        var schedule = self.schedule(every: .seconds(60))
        var now = Duration.zero
        for _ in 0..<4 {
            _ = schedule.step(at: now)
            schedule.record(at: now, .failed(retryAfter: nil), random: Self.exact)
            now += .seconds(60)
        }
        _ = schedule.step(at: now)
        schedule.record(at: now, .failed(retryAfter: nil), random: Self.exact)
        schedule.pollSoon(at: now + .seconds(10))
        #expect(schedule.step(at: now + .seconds(10)) == .sleep(until: now + .milliseconds(25_600)))
    }

    @Test(arguments: [Duration.seconds(Int64.max), .seconds(-1), .seconds(-5), .seconds(Int64.min)])
    func noIntervalIsTooLongOrTooShort(interval: Duration) {
        for start: PollSchedule.Start in [.afterInterval, .spread, .atOnce] {
            var schedule = PollSchedule(every: interval, start: start, at: .seconds(1_000_000), random: 0.999)
            let step = schedule.step(at: .seconds(1_000_000))
            if case .sleep(let due) = step { #expect(due <= .seconds(1_000_000) + .longest) }
            schedule.record(at: .seconds(1_000_001), .succeeded, random: 0.999)
        }
    }

    @Test func aPollCutOffIsMadeUpForAfterTheMinimumDistance() {
        var schedule = self.schedule()
        _ = schedule.step(at: .zero)
        schedule.abandoned(at: .seconds(2))
        #expect(schedule.step(at: .seconds(2)) == .sleep(until: .seconds(5)))
        #expect(schedule.step(at: .seconds(5)) == .poll(lag: .zero))
    }

    @Test func aPauseHoldsPollsBackAndAMissedOneHappensOnResumption() {
        var schedule = self.schedule()
        _ = schedule.step(at: .zero)
        schedule.pause()  // the poll under way still ends well
        schedule.record(at: .seconds(1), .succeeded, random: Self.exact)
        #expect(schedule.step(at: .seconds(100)) == .wait)
        schedule.pollSoon(at: .seconds(100))
        #expect(schedule.step(at: .seconds(100)) == .wait)
        schedule.resume(at: .seconds(101))
        #expect(schedule.step(at: .seconds(101)) == .poll(lag: .zero))
    }

    @Test func aShortPauseDoesNotBringThePollForward() {
        var schedule = self.schedule()
        _ = schedule.step(at: .zero)
        schedule.record(at: .seconds(1), .succeeded, random: Self.exact)
        schedule.pause()
        schedule.resume(at: .seconds(2))
        #expect(schedule.step(at: .seconds(2)) == .sleep(until: .seconds(7)))
    }

    @Test func noSequenceOfEventsStartsTwoPollsCloserThanTheMinimum() {
        var generator = SystemRandomNumberGenerator()
        var schedule = self.schedule(every: .seconds(5))
        var now = Duration.zero
        var starts: [Duration] = []
        for _ in 0..<20_000 {
            now += .milliseconds(Int.random(in: 0...2_000, using: &generator))
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: schedule.pollSoon(at: now)
            case 1: schedule.pause()
            case 2: schedule.resume(at: now)
            case 3: schedule.record(at: now, .succeeded, random: .random(in: 0..<1, using: &generator))
            case 4: schedule.record(at: now, .failed(retryAfter: nil), random: .random(in: 0..<1, using: &generator))
            default: if case .poll = schedule.step(at: now) { starts.append(now) }
            }
        }
        #expect(starts.count > 100)
        #expect(zip(starts, starts.dropFirst()).allSatisfy { $1 - $0 >= .seconds(5) })
    }

    @Test func aFleetThatStartsTogetherIsSpreadOverTheInterval() {
        var perSecond = [Int](repeating: 0, count: 7)
        for index in 0..<10_000 {
            var schedule = PollSchedule(
                every: .seconds(7),
                start: .spread,
                at: .zero,
                random: Double(index) / 10_000
            )
            if case .sleep(let due) = schedule.step(at: .zero) { perSecond[Int(due.components.seconds)] += 1 }
        }
        #expect(perSecond.allSatisfy { (1_400...1_450).contains($0) })
    }

    private static let endless = [.seconds(Int64.max), Duration(attoseconds: .max), .seconds(1e19)]

    @Test(arguments: Self.endless, [PollSchedule.Start.atOnce, .afterInterval, .spread])
    func anEndlessIntervalIsACentury(interval: Duration, start: PollSchedule.Start) {
        var schedule = PollSchedule(every: interval, start: start, at: .seconds(1), random: 0.99)
        #expect(schedule.interval == .longest)
        if start == .atOnce { #expect(schedule.step(at: .seconds(1)) == .poll(lag: .zero)) }
        if start != .atOnce { _ = schedule.step(at: .seconds(1) + .longest) }
        schedule.record(at: .seconds(2) + .longest, .succeeded, random: 0.99)
        guard case .sleep = schedule.step(at: .seconds(2) + .longest) else {
            Issue.record("it polls without a pause")
            return
        }
    }

    @Test(arguments: Self.endless) func anEndlessRetryAfterIsCapped(wait: Duration) {
        var schedule = self.schedule(every: wait)
        _ = schedule.step(at: .zero)
        schedule.record(at: .zero, .failed(retryAfter: wait), random: 0.99)
        guard case .sleep = schedule.step(at: .zero) else {
            Issue.record("it polls without a pause")
            return
        }
    }
}
