import MobileToken
import MobileTokenTesting
import PowerAuth
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(5))) struct WaitingTests {
    private let clock = ManualClock()
    private let channel = ScriptedChannel()
    private let service: OperationsService

    init() {
        self.service = OperationsService(activation: self.channel, configuration: .even(self.clock))
    }

    /// Answers the poll under way, and waits until the service sleeps until the next one.
    private func answer(_ ids: String...) async {
        await self.channel.nextRequest().answer(SampleAnswer.list(ids.map { .sampleOperation($0) }))
        await self.clock.waitForSleepers(2)
    }

    private func nextPoll() async -> ScriptedChannel.Request {
        await self.clock.waitForSleepers(2)
        self.clock.advance(by: .seconds(7))
        return await self.channel.nextRequest()
    }

    @Test func itPollsUntilTheListIsAsWanted() async throws {
        let waiting = Task {
            try await self.service.waitForList(within: .seconds(60)) { $0.operations.count == 2 }
        }
        await self.channel.nextRequest().answer(SampleAnswer.list("a"))
        await self.nextPoll().answer(SampleAnswer.list("a", "b"))
        #expect(try await waiting.value.operations.map(\.id) == ["a", "b"])
        #expect(!self.service.isPolling)
        #expect(self.channel.requestCount == 2)
    }

    @Test func aListThatWasFetchedBeforeDoesNotCount() async throws {
        self.channel.setRule { _ in SampleAnswer.list("a") }
        try await self.service.operations()
        self.channel.setRule(nil)
        let waiting = Task { try await self.service.waitForList(within: .seconds(60)) { _ in true } }
        await self.channel.nextRequest().answer(SampleAnswer.list("b"))
        #expect(try await waiting.value.operations.map(\.id) == ["b"])
    }

    @Test func theDeadlineHasAnErrorOfItsOwnWithTheLastFailure() async throws {
        let waiting = Task { try await self.service.waitUntilDecided("a", within: .seconds(10)) }
        await self.channel.nextRequest().fail(MobileTokenError(.timeout, "slow"))
        await self.clock.waitForSleepers(2)
        self.clock.advance(by: .seconds(10))
        let error = try await #require(throws: MobileTokenError.self) { try await waiting.value }
        #expect(error.code == .deadlinePassed)
        #expect((error.underlying as? MobileTokenError)?.code == .timeout)
        #expect(!self.service.isPolling)
        #expect(self.clock.sleeperCount == 0)
    }

    /// The wait is the wait, whatever the server does: it never answers, takes its time, or asks to be left alone for an hour.
    @Test(arguments: [
        nil, MobileTokenError(.timeout, "slow"), MobileTokenError(.httpStatus, "busy", retryAfter: .seconds(3_600)),
    ])
    func theDeadlineIsKept(failure: MobileTokenError?) async throws {
        let start = self.clock.now
        let waiting = Task { try await self.service.waitForList(within: .seconds(30)) { _ in false } }
        let request = await self.channel.nextRequest()
        await self.clock.waitForSleepers(1)
        if let failure {
            self.clock.advance(by: .seconds(20))
            request.fail(failure)
            await self.clock.waitForSleepers(2)
        }
        self.clock.advance(by: .seconds(30) - start.duration(to: self.clock.now))
        let error = try await #require(throws: MobileTokenError.self) { try await waiting.value }
        #expect(error.code == .deadlinePassed && (error.underlying as? MobileTokenError)?.code == failure?.code)
        #expect(self.clock.sleeperCount == 0)
        await self.channel.waitForCancelled(failure == nil ? 1 : 0)
    }

    @Test func aDecisionThroughTheServiceEndsTheWaitWithItsReason() async throws {
        let waiting = Task { try await self.service.waitUntilDecided("a", within: .seconds(60)) }
        await self.answer("a", "b")
        let operation = try #require(self.service.list.operations.first { $0.id == "a" })
        let rejecting = Task { _ = try await self.service.reject(operation) }
        await self.channel.nextRequest().answer(SampleAnswer.ok)
        try await rejecting.value
        #expect(try await waiting.value == .rejected)
    }

    @Test func anOperationThatDisappearsWasDecidedElsewhere() async throws {
        let waiting = Task { try await self.service.waitUntilDecided("a", within: .seconds(60)) }
        await self.channel.nextRequest().answer(SampleAnswer.list("a"))
        await self.nextPoll().answer(SampleAnswer.list())
        #expect(try await waiting.value == .disappeared)
    }

    @Test func anOperationThatWasNeverListedIsDecided() async throws {
        let waiting = Task { try await self.service.waitUntilDecided("a", within: .seconds(60)) }
        await self.channel.nextRequest().answer(SampleAnswer.list())
        #expect(try await waiting.value == .disappeared)
    }

    @Test func whatEndsPollingEndsTheWait() async throws {
        let waiting = Task { try await self.service.waitUntilDecided("a", within: .seconds(60)) }
        await self.channel.nextRequest().fail(MobileTokenError(.activationRemoved, "gone"))
        let error = try await #require(throws: MobileTokenError.self) { try await waiting.value }
        #expect(error.code == .activationRemoved)
    }

    @Test func itSharesThePollingOfOthersAndHurriesIt() async throws {
        await self.service.startPolling(every: .seconds(60))
        await self.channel.nextRequest().answer(SampleAnswer.list("a"))
        #expect(await self.clock.nextSleep() == .seconds(60))
        let waiting = Task { try await self.service.waitUntilDecided("a", within: .seconds(60)) }
        await self.clock.waitForSleepers(2)
        await until { self.clock.timeToNextDeadline == .seconds(5) }
        self.clock.advance(by: .seconds(5))
        await self.channel.nextRequest().answer(SampleAnswer.list())
        #expect(try await waiting.value == .disappeared)
        #expect(self.service.isPolling)
        #expect(self.channel.requestCount == 2)
        await self.service.stopPolling()
    }

    @Test func cancelingTheWaitEndsItsPolling() async throws {
        let waiting = Task { try await self.service.waitUntilDecided("a", within: .seconds(60)) }
        await self.answer("a")
        await #expect(throws: CancellationError.self) { try await waiting.stop() }
        #expect(!self.service.isPolling)
        #expect(self.clock.sleeperCount == 0)
    }
}
