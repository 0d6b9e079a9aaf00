import MobileToken
import PowerAuth
import Testing

struct ActivationConditionTests {
    private var condition = ActivationCondition()

    private func error(_ code: MobileTokenError.Code, retryAfter: Duration? = nil) -> MobileTokenError {
        MobileTokenError(code, "so", retryAfter: retryAfter)
    }

    init() { self.condition.recordOpening() }

    @Test func itIsOpenedThenPolledThenActive() {
        var condition = ActivationCondition()
        #expect(condition.step(at: .zero) == .open(notBefore: .zero))
        condition.recordOpening()
        #expect(condition.state.phase == .starting)
        #expect(condition.step(at: .zero) == .poll)
        condition.recordPoll(at: .seconds(3))
        #expect(condition.state.phase == .active)
        #expect(condition.lastSuccess == .seconds(3))
    }

    @Test func theCountersAreComparedOnceBeforeTheFirstPoll() {
        var condition = self.condition
        #expect(condition.comparesFirst(at: .zero))
        condition.recordStatusFailure(self.error(.timeout), at: .zero)
        // Polling does not wait for it.
        #expect(!condition.comparesFirst(at: .seconds(59)))
        condition.recordPoll(at: .seconds(7))
        #expect(condition.comparesFirst(at: .seconds(60)))
        condition.recordStatus(.active, .inSync, at: .seconds(60))
        #expect(!condition.comparesFirst(at: .seconds(1_000)))
        #expect(condition.state.phase == .active)
    }

    @Test func aStoreThatIsBusyIsTriedAgainEverLater() {
        var condition = ActivationCondition()
        var waits: [Duration] = []
        for _ in 0..<12 {
            condition.recordOpeningFailure(self.error(.storeBusy), at: .seconds(100))
            guard case .open(let time) = condition.step(at: .zero) else { break }
            waits.append(time - .seconds(100))
        }
        #expect(waits.prefix(3) == [.seconds(1), .seconds(1.5), .seconds(2.25)])
        #expect(waits.last == .seconds(60))
        #expect(condition.state.phase == .starting)
        #expect(condition.state.reason?.code == .storeBusy)
    }

    @Test(
        arguments: [
            (.unknownActivation, .removed), (.activationRemoved, .removed), (.deadlock, .deadlocked),
            (.stateRolledBack, .rolledBack), (.storeCorrupted, .unreadable), (.storeFromFuture, .unreadable),
            (.cryptographyFailed, .unreadable), (.invalidConfiguration, .misconfigured),
            (.storeWrongSealingKey, .misconfigured), (.storeSealingKeyMissing, .misconfigured),
        ] as [(MobileTokenError.Code, OperationsFleet.ActivationState.Phase)]
    )
    func someErrorsEndIt(code: MobileTokenError.Code, phase: OperationsFleet.ActivationState.Phase) {
        var (opening, polling, asking) = (ActivationCondition(), self.condition, self.condition)
        opening.recordOpeningFailure(self.error(code), at: .zero)
        polling.recordFailure(self.error(code), at: .zero)
        asking.recordStatusFailure(self.error(code), at: .zero)
        for ended in [opening, polling, asking] {
            #expect(ended.state.phase == phase)
            #expect(phase.isEnded)
            #expect(ended.state.reason?.code == code)
            #expect(ended.step(at: .seconds(1_000_000)) == .end)
        }
        // Nothing leads out of an end.
        polling.recordPoll(at: .zero)
        polling.recordStatus(.active, .inSync, at: .zero)
        polling.recordFailure(self.error(.activationPending), at: .zero)
        #expect(polling.state.phase == phase)
    }

    @Test(arguments: [
        MobileTokenError.Code.timeout, .noConnection, .httpStatus, .serverError, .invalidResponse, .storeBusy,
        .storePermissions,
    ])
    func othersAreShownAndPolledOnAfter(code: MobileTokenError.Code) {
        var condition = self.condition
        condition.recordPoll(at: .zero)
        condition.recordFailure(self.error(code), at: .seconds(7))
        #expect(condition.state.phase == .active)
        #expect(condition.state.reason?.code == code)
        #expect(condition.step(at: .seconds(8)) == .poll)
        condition.recordPoll(at: .seconds(14))
        #expect(condition.state.reason == nil)
    }

    @Test(arguments: [MobileTokenError.Code.authenticationFailed, .invalidActivation, .activationFailed])
    func aRefusalIsExplainedByTheStatusOnceAMinute(code: MobileTokenError.Code) {
        var condition = self.condition
        condition.recordPoll(at: .zero)
        condition.recordFailure(self.error(code), at: .seconds(7))
        #expect(condition.step(at: .seconds(7)) == .askStatus(notBefore: .seconds(7)))
        condition.recordStatus(.active, .inSync, at: .seconds(8))
        #expect(condition.state.phase == .active)
        #expect(condition.step(at: .seconds(8)) == .poll)
        condition.recordFailure(self.error(code), at: .seconds(15))
        #expect(condition.step(at: .seconds(67)) == .poll)
        #expect(condition.step(at: .seconds(68)) == .askStatus(notBefore: .seconds(68)))
        condition.recordStatusFailure(self.error(.timeout), at: .seconds(69))
        #expect(condition.step(at: .seconds(70)) == .poll)
    }

    @Test func itAsksUntilTheServerCommits() {
        var condition = self.condition
        condition.recordFailure(self.error(.activationPending), at: .zero)
        #expect(condition.state.phase == .awaitingCommit)
        var now = Duration.zero
        var waits: [Duration] = []
        for _ in 0..<9 {
            guard case .askStatus(let time) = condition.step(at: now) else { break }
            waits.append(time - now)
            now = time
            condition.recordStatus(.pendingCommit, .inSync, at: now)
        }
        #expect(waits.prefix(3) == [.seconds(5), .seconds(7.5), .seconds(11.25)])
        #expect(waits.last == .seconds(60))
        condition.recordStatus(.active, .inSync, at: now)
        #expect(condition.state.phase == .active)
        #expect(condition.state.reason == nil)
        #expect(condition.step(at: now) == .poll)
    }

    @Test func aFailedStatusWaitsAsLongAsTheServerAsks() {
        var condition = self.condition
        condition.recordFailure(self.error(.activationPending), at: .zero)
        condition.recordStatusFailure(self.error(.httpStatus, retryAfter: .seconds(90)), at: .seconds(5))
        #expect(condition.state.phase == .awaitingCommit)
        #expect(condition.step(at: .seconds(5)) == .askStatus(notBefore: .seconds(95)))
    }

    @Test func aBlockedActivationIsAskedAboutSeldomAndComesBack() {
        var condition = self.condition
        condition.recordPoll(at: .zero)
        condition.recordFailure(self.error(.authenticationFailed), at: .seconds(7))
        condition.recordStatus(.blocked, .inSync, at: .seconds(8))
        #expect(condition.state.phase == .blocked)
        #expect(condition.state.reason?.code == .activationBlocked)
        #expect(condition.step(at: .seconds(9)) == .askStatus(notBefore: .seconds(308)))
        condition.recordStatus(.blocked, .inSync, at: .seconds(308))
        #expect(condition.step(at: .seconds(309)) == .askStatus(notBefore: .seconds(608)))
        condition.recordStatus(.active, .inSync, at: .seconds(608))
        #expect(condition.state.phase == .active)
        #expect(condition.step(at: .seconds(608)) == .poll)
    }

    @Test(
        arguments: [
            (.removed, .inSync, .removed), (.active, .deadlock, .deadlocked), (.active, .rolledBack, .rolledBack),
            (.blocked, .deadlock, .deadlocked), (.created, .inSync, .awaitingCommit),
            (.active, .movedForward(3), .starting), (.active, .signatureRecommended, .starting),
        ] as [(ActivationState, CounterComparison.Result, OperationsFleet.ActivationState.Phase)]
    )
    func theStatusDecides(
        state: ActivationState,
        counter: CounterComparison.Result,
        phase: OperationsFleet.ActivationState.Phase
    ) {
        var condition = self.condition
        condition.recordStatus(state, counter, at: .zero)
        #expect(condition.state.phase == phase)
    }
}
