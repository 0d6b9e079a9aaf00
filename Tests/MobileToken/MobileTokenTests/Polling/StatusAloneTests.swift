import MobileToken
import MobileTokenTesting
import PowerAuth
import Testing
import TestSupport

/// The rules of a fleet for refused polls, in a service that no fleet polls.
@Suite(.timeLimit(.minutes(5))) struct StatusAloneTests {
    private let clock = ManualClock()
    private let evidence = ScriptedEvidence()
    private let failures = Shared<[MobileTokenError.Code]>([])

    private func makeService(hasEvidence: Bool = true) -> (OperationsService, ScriptedChannel) {
        let channel = ScriptedChannel(evidence: hasEvidence ? self.evidence : nil) { [failures] _ in
            guard let code = failures.update({ $0.isEmpty ? nil : $0.removeFirst() }) else {
                return SampleAnswer.list("a")
            }
            throw MobileTokenError(code, "so")
        }
        return (OperationsService(activation: channel, configuration: .even(self.clock)), channel)
    }

    private func untilAsleep(for duration: Duration) async { await until { self.clock.timeToNextDeadline == duration } }

    @Test func aBlockedActivationIsAskedForByItsStatusWithinHalfAMinute() async throws {
        let (service, channel) = self.makeService()
        self.failures.value = [.activationBlocked]
        self.evidence.states.value = [.success(.blocked), .success(.blocked), .success(.active)]
        var events = service.events().makeAsyncIterator()
        let polling = Task { try await service.poll() }
        for questions in 0..<3 {
            await self.untilAsleep(for: .seconds(30))
            #expect(channel.requestCount == 1)
            #expect(self.evidence.questions.value == questions)
            self.clock.advance(by: .seconds(30))
        }
        await self.untilAsleep(for: .seconds(7))  // polled at once
        #expect(channel.requestCount == 2)
        #expect(self.evidence.questions.value == 3)
        #expect(await events.next()?.name == "loading true")
        #expect(await events.next()?.name == "failed activationBlocked")
        try await polling.stop()
    }

    @Test func anActivationThatIsNotCommittedIsAskedForByItsStatusUntilItIs() async throws {
        let (service, channel) = self.makeService()
        self.failures.value = [.activationPending]
        self.evidence.states.value = [
            .success(.pendingCommit), .failure(MobileTokenError(.timeout, "late")), .success(.active),
        ]
        await service.startPolling()
        for seconds in [5, 7.5, 7.5] {
            await self.untilAsleep(for: .seconds(seconds))
            #expect(channel.requestCount == 1)
            self.clock.advance(by: .seconds(seconds))
        }
        await self.untilAsleep(for: .seconds(7))
        #expect(channel.requestCount == 2)
        await service.stopPolling()
    }

    @Test func aRefusedPollIsToldAndThenExplainedOnceAMinute() async throws {
        let (service, channel) = self.makeService()
        self.failures.value = [.authenticationFailed, .authenticationFailed]
        var events = service.events().makeAsyncIterator()
        await service.startPolling()
        for polls in 1...2 {
            await self.untilAsleep(for: .seconds(7))
            #expect(channel.requestCount == polls)
            #expect(self.evidence.questions.value == 1)
            self.clock.advance(by: .seconds(7))
        }
        await until { channel.requestCount == 3 }
        #expect(await events.next()?.name == "loading true")
        #expect(await events.next()?.name == "failed authenticationFailed")
        await service.stopPolling()
    }

    @Test func aPollWaitsAsTheAnswerToAStatusAskedFor() async throws {
        let (service, channel) = self.makeService()
        self.failures.value = [.authenticationFailed]
        self.evidence.states.value = [
            .failure(MobileTokenError(.httpStatus, "unavailable", httpStatus: 503, retryAfter: .seconds(100)))
        ]
        await service.startPolling()
        #expect(await self.clock.nextSleep() == .seconds(105))
        #expect(channel.requestCount == 1)
        #expect(self.evidence.questions.value == 1)
        await service.stopPolling()
    }

    @Test func aStatusThatExplainsTheRefusalEndsPolling() async throws {
        let (service, channel) = self.makeService()
        self.failures.value = [.invalidActivation]
        self.evidence.states.value = [.success(.removed)]
        let changes = service.changes()
        let error = await #expect(throws: MobileTokenError.self) { try await service.poll() }
        #expect(error?.code == .activationRemoved)
        #expect(service.endReason?.code == .activationRemoved)
        #expect(!service.isPolling)
        #expect(channel.requestCount == 1)
        for await _ in changes { Issue.record("a change") }

        // Polling anew asks anew.
        self.evidence.states.value = [.success(.active)]
        await service.startPolling()
        await self.untilAsleep(for: .seconds(7))
        #expect(channel.requestCount == 2)
        #expect(service.endReason == nil)
        await service.stopPolling()
    }

    @Test(arguments: [MobileTokenError.Code.storeCorrupted, .storeWrongSealingKey, .invalidConfiguration])
    func aStoreThatCannotBeUsedEndsPolling(code: MobileTokenError.Code) async throws {
        let (service, channel) = self.makeService()
        self.failures.value = [code]
        let error = await #expect(throws: MobileTokenError.self) { try await service.poll() }
        #expect(error?.code == code)
        #expect(channel.requestCount == 1)
        #expect(self.evidence.questions.value == 0)
    }

    @Test func aPausedServiceAsksForNoStatus() async throws {
        let (service, _) = self.makeService()
        self.failures.value = [.activationBlocked]
        var reader: AsyncStream<OperationList.Change>.Iterator? = service.changes().makeAsyncIterator()
        await service.startPolling(options: .pauseWhenUnobserved)
        await self.untilAsleep(for: .seconds(30))
        reader = nil
        #expect(service.isPollingPaused)
        await until { self.clock.sleeperCount == 0 }
        self.clock.advance(by: .seconds(300))
        #expect(self.evidence.questions.value == 0)
        reader = service.changes().makeAsyncIterator()
        await until { self.evidence.questions.value == 1 }
        await self.untilAsleep(for: .seconds(7))
        #expect(await reader?.next()?.addedIDs == ["a"])
        await service.stopPolling()
    }

    @Test func anActivationWithoutAStatusIsPolledOn() async throws {
        let (service, channel) = self.makeService(hasEvidence: false)
        self.failures.value = [.activationBlocked, .authenticationFailed]
        await service.startPolling()
        for polls in 1...2 {
            await self.untilAsleep(for: .seconds(7))
            #expect(channel.requestCount == polls)
            self.clock.advance(by: .seconds(7))
        }
        await until { channel.requestCount == 3 }
        await service.stopPolling()
    }
}
