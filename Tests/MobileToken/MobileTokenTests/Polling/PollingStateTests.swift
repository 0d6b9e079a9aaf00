import MobileToken
import PowerAuth
import Testing

struct PollingStateTests {
    private var following = PollingState(canAskStatus: true)

    private mutating func enter(_ seconds: Int, at now: Duration = .zero) -> PollingState.Runner {
        self.following.enter(PollingState.Plan(interval: .seconds(seconds)), at: now, random: 0.5)
    }

    private mutating func poll(_ runner: PollingState.Runner, at now: Duration) {
        guard case .send(.poll) = self.following.step(runner, at: now) else {
            Issue.record("no poll")
            return
        }
        self.following.record(.succeeded, at: now, random: 0.5)
    }

    private mutating func expectSleep(_ runner: PollingState.Runner, at now: Duration, until time: Duration) {
        guard case .sleep(until: time) = self.following.step(runner, at: now) else {
            Issue.record("no sleep")
            return
        }
    }

    private mutating func expectQuestion(_ runner: PollingState.Runner, at now: Duration, maySign: Bool) {
        guard case .send(.status(maySign: maySign)) = self.following.step(runner, at: now) else {
            Issue.record("no question")
            return
        }
    }

    @Test mutating func theFirstPlanHoldsUntilAllHaveLeft() {
        let first = self.enter(10)
        let second = self.enter(60)
        self.poll(first, at: .zero)
        self.following.leave(first)
        self.expectSleep(second, at: .seconds(1), until: .seconds(10))
        self.following.leave(second)
        #expect(!self.following.isRunning)
        let third = self.enter(60, at: .seconds(1))
        self.poll(third, at: .seconds(1))
        #expect(self.following.next(at: .seconds(1)) == .seconds(61))
    }

    @Test mutating func everyRunnerGetsTheReasonOfTheEndOnce() {
        let runners = [self.enter(7), self.enter(7)]
        let error = MobileTokenError(.activationRemoved, "over")
        let (hasChanged, end) = self.following.update { $0.recordFailure(error, at: .zero) }
        #expect(hasChanged)
        #expect(end?.code == .activationRemoved)
        #expect(!self.following.isRunning)
        for runner in runners {
            guard case .over(let reason) = self.following.step(runner, at: .zero) else {
                Issue.record("another step")
                return
            }
            #expect(reason?.code == .activationRemoved)
            self.following.leave(runner)
            guard case .over(nil) = self.following.step(runner, at: .zero) else {
                Issue.record("another step")
                return
            }
        }
        // Without runners there is nothing to end.
        let none = self.following.update { $0.recordFailure(error, at: .zero) }
        #expect(none.end == nil)
    }

    @Test mutating func aFleetComparesTheCountersBeforeTheFirstPoll() {
        var plan = PollingState.Plan(interval: .seconds(7))
        plan.comparesCounters = true
        let runner = self.following.enter(plan, at: .zero, random: 0.5)
        self.expectQuestion(runner, at: .zero, maySign: false)
        _ = self.following.update { $0.recordStatus(.active, .inSync, at: .zero) }
        self.poll(runner, at: .zero)
        self.expectSleep(runner, at: .zero, until: .seconds(7))
    }

    @Test mutating func aQuestionWaitsForRetryAfterAsPollsDo() {
        let runner = self.enter(7)
        guard case .send(.poll) = self.following.step(runner, at: .zero) else {
            Issue.record("another step")
            return
        }
        _ = self.following.update { $0.recordFailure(MobileTokenError(.authenticationFailed, "so"), at: .zero) }
        self.following.record(.failed(retryAfter: .seconds(100)), at: .zero, random: 0)
        self.expectSleep(runner, at: .zero, until: .seconds(100))
        self.expectQuestion(runner, at: .seconds(100), maySign: true)
    }

    @Test mutating func aPollWaitsAsTheAnswerToAQuestionAskedFor() {
        let runner = self.enter(7)
        self.poll(runner, at: .zero)
        self.following.wait(.seconds(100), at: .seconds(1), random: 0)
        self.following.wait(.seconds(10), at: .seconds(2), random: 0)
        self.expectSleep(runner, at: .seconds(7), until: .seconds(101))
    }
}
