import Basics
import MobileToken
import MobileTokenNotifications
import MobileTokenTesting
import PowerAuth
import Synchronization
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(5))) struct PollingTests {
    private let clock = ManualClock()
    private let channel = ScriptedChannel()

    private func makeService(_ channel: ScriptedChannel? = nil) -> OperationsService {
        OperationsService(activation: channel ?? self.channel, configuration: .even(self.clock))
    }

    /// Answers the poll under way and waits until the service sleeps until the next one.
    private func answer(_ ids: String...) async -> Duration? {
        await self.channel.nextRequest().answer(SampleAnswer.list(ids.map { .sampleOperation($0) }))
        return await self.clock.nextSleep()
    }

    private func fail(retryAfter: Duration? = nil) async -> Duration? {
        await self.channel.nextRequest()
            .fail(MobileTokenError(.httpStatus, "unavailable", httpStatus: 503, retryAfter: retryAfter))
        return await self.clock.nextSleep()
    }

    @Test func itPollsAtTheIntervalUntilCancelled() async throws {
        let service = self.makeService()
        #expect(!service.isPolling)
        let polling = Task { try await service.poll(every: .seconds(7)) }
        #expect(await self.answer("a") == .seconds(7))
        #expect(service.isPolling)
        for _ in 0..<3 {
            self.clock.advance(by: .seconds(7))
            #expect(await self.answer("a") == .seconds(7))
        }
        try await polling.stop()  // returns, without an error
        #expect(!service.isPolling)
        #expect(self.clock.sleeperCount == 0)
        #expect(self.channel.requestCount == 4)
    }

    @Test func runPollsAsConfigured() async throws {
        var configuration = OperationsService.Configuration.even(self.clock)
        configuration.pollInterval = .seconds(60)
        let service = OperationsService(activation: self.channel, configuration: configuration)
        let running = Task { try await service.run() }
        #expect(await self.answer() == .seconds(60))
        try await running.stop()
    }

    @Test func failuresKeepTheListBackOffAndReachTheEvents() async throws {
        let service = self.makeService()
        await service.startPolling()
        #expect(await self.answer("a") == .seconds(7))
        var events = service.events().makeAsyncIterator()
        #expect(await events.next()?.name == "changed a")

        for expected in [7_000, 7_000, 7_000, 12_800, 25_600, 30_000] {
            self.clock.advanceToNextDeadline()
            #expect(await self.fail() == .milliseconds(expected))
            #expect(await events.next()?.name == "loading true")
            #expect(await events.next()?.name == "failed httpStatus")
            #expect(await events.next()?.name == "loading false")
        }
        self.clock.advanceToNextDeadline()
        #expect(await self.answer("a", "b") == .seconds(7))
        #expect(await events.next()?.name == "loading true")
        #expect(await events.next()?.name == "changed a b")
        await service.stopPolling()
    }

    @Test(arguments: ["", "{", "<html>", #"{"status":"OK","responseObject":[{"#])
    func pollingGoesOnAfterAnAnswerThatCannotBeRead(answer: String) async {
        let service = self.makeService()
        await service.startPolling()
        await self.channel.nextRequest().answer(answer)
        #expect(await self.clock.nextSleep() == .seconds(7))
        self.clock.advanceToNextDeadline()
        #expect(await self.answer("a") == .seconds(7))
        await service.stopPolling()
    }

    @Test func pollNowComesEarlyButNotTooEarly() async {
        let service = self.makeService()
        service.pollNow()  // nobody polls: nothing happens
        await service.startPolling(every: .seconds(60))
        #expect(await self.answer() == .seconds(60))
        self.clock.advance(by: .seconds(2))
        service.pollNow()
        #expect(await self.clock.nextSleep() == .seconds(3))
        service.pollNow()
        #expect(await self.clock.nextSleep() == .seconds(3))
        self.clock.advance(by: .seconds(3))
        #expect(await self.answer() == .seconds(60))
        self.clock.advance(by: .seconds(30))
        service.pollNow()
        #expect(await self.answer() == .seconds(60))
        #expect(self.channel.requestCount == 3)
        await service.stopPolling()
    }

    @Test func startingTwiceKeepsTheFirstInterval() async {
        let service = self.makeService()
        await service.startPolling(every: .seconds(10))
        await service.startPolling(every: .seconds(20))
        let structured = Task { try await service.poll(every: .seconds(30)) }
        #expect(await self.answer() == .seconds(10))
        self.clock.advance(by: .seconds(10))
        #expect(await self.answer() == .seconds(10))
        #expect(self.channel.requestCount == 2)
        await service.stopPolling()
        structured.cancel()
        _ = await structured.result
    }

    @Test func stoppedPollingStartsAnewWithItsNewInterval() async {
        let service = self.makeService()
        await service.startPolling(every: .seconds(10))
        #expect(await self.answer() == .seconds(10))
        await service.stopPolling()
        #expect(!service.isPolling)
        await service.startPolling(every: .seconds(20))
        #expect(await self.answer() == .seconds(20))
        await service.stopPolling()
        await until { self.clock.sleeperCount == 0 }
    }

    @Test func stoppingTakesThePollOffTheWire() async {
        let service = self.makeService()
        await service.startPolling()
        _ = await self.channel.nextRequest()
        await service.stopPolling()
        await self.channel.waitForCancelled(1)
        #expect(service.lastFetchResult == nil)
    }

    @Test func itPausesWhileNobodyReads() async {
        let service = self.makeService()
        await service.startPolling(options: .pauseWhenUnobserved)
        await until { service.isPollingPaused }
        #expect(self.channel.requestCount == 0)

        var reader: AsyncStream<OperationList.Change>.Iterator? = service.changes().makeAsyncIterator()
        #expect(await self.answer("a") == .seconds(7))
        #expect(await reader?.next()?.addedIDs == ["a"])
        var events: AsyncStream<OperationsService.Event>.Iterator? = service.events().makeAsyncIterator()
        reader = nil
        #expect(!service.isPollingPaused)
        #expect(await events?.next()?.name == "changed a")
        events = nil
        #expect(service.isPollingPaused && service.isPolling)
        await until { self.clock.sleeperCount == 0 }
        self.clock.advance(by: .seconds(100))
        #expect(self.channel.requestCount == 1)
        reader = service.changes().makeAsyncIterator()  // and the poll that was missed follows
        #expect(await self.answer("a") == .seconds(7))
        reader = nil
        #expect(service.isPollingPaused)
        await service.stopPolling()
        #expect(!service.isPollingPaused)
        await service.startPolling(options: .pauseWhenUnobserved)
        #expect(service.isPollingPaused)
        await service.stopPolling()
    }

    @Test func anIntervalBelowTheMinimumIsRaisedAndTheObserverTold() async {
        let observer = RecordingObserver()
        let channel = ScriptedChannel(observer: observer) { _ in SampleAnswer.list("a") }
        let service = self.makeService(channel)
        await service.startPolling(every: .seconds(1))
        #expect(await self.clock.nextSleep() == .seconds(5))
        #expect(
            observer.events == ["raised 1.0 seconds to 5.0 seconds", "poll 0.0 seconds late", "1 operations, 1 added"]
        )
        await service.stopPolling()
    }

    // MARK: Ends and beginnings

    @Test(arguments: [
        MobileTokenError.Code.unknownActivation, .activationRemoved, .deadlock, .stateRolledBack,
    ])
    func whatNoLaterPollCanMendEndsPollingForEverybody(code: MobileTokenError.Code) async throws {
        let service = self.makeService()
        var changes = service.changes().makeAsyncIterator()
        var events = service.events().makeAsyncIterator()
        let polls = (0..<3).map { _ in Task { try await service.poll() } }
        await service.startPolling()
        await until { service.pollingCallerCount == 4 }
        #expect(await self.answer("a") == .seconds(7))
        #expect(await changes.next()?.addedIDs == ["a"])
        self.clock.advanceToNextDeadline()
        await self.channel.nextRequest().fail(MobileTokenError(code, "over"))
        for poll in polls {
            let error = await #expect(throws: MobileTokenError.self) { try await poll.value }
            #expect(error?.code == code)
        }
        #expect(!service.isPolling)
        #expect(service.pollingCallerCount == 0)
        #expect(await changes.next() == nil)
        while let event = await events.next() {
            guard case .failed(let error) = event else { continue }
            #expect(error.code == code)
        }
        #expect(service.endReason?.code == code)
        #expect(self.channel.requestCount == 2)
        #expect(self.clock.sleeperCount == 0)
    }

    @Test func aPollAfterTheEndAsksAnewAndItsStreamsFollow() async throws {
        let service = self.makeService()
        for _ in 0..<3 {
            let polling = Task { try await service.poll() }
            await self.channel.nextRequest().fail(MobileTokenError(.activationRemoved, "over"))
            await #expect(throws: MobileTokenError.self) { try await polling.value }
            #expect(!service.isPolling)
        }
        await service.startPolling()
        var changes = service.changes().makeAsyncIterator()
        #expect(await self.answer("a") == .seconds(7))
        #expect(await changes.next()?.addedIDs == ["a"])
        #expect(service.endReason == nil)
        await service.stopPolling()
    }

    @Test func aFetchByHandThatFindsTheActivationRemovedEndsPollingToo() async throws {
        let service = self.makeService()
        let polling = Task { try await service.poll() }
        #expect(await self.answer() == .seconds(7))
        self.channel.setRule { _ in throw MobileTokenError(.activationRemoved, "over") }
        await #expect(throws: MobileTokenError.self) { try await service.operations() }
        let error = await #expect(throws: MobileTokenError.self) { try await polling.value }
        #expect(error?.code == .activationRemoved)
        #expect(self.channel.requestCount == 2)
    }

    @Test func whatIsStartedTheMomentPollingEndsPollsAndCanBeStopped() async throws {
        self.channel.setRule { _ in throw MobileTokenError(.unknownActivation, "removed") }
        let service = self.makeService()
        for _ in 0..<500 {
            await service.startPolling()
            await until { !service.isPolling }
        }
        self.channel.setRule { _ in SampleAnswer.list("a") }
        await service.startPolling()
        #expect(service.isPolling)
        await service.stopPolling()
        #expect(!service.isPolling)
        await until { self.clock.sleeperCount == 0 && service.pollingCallerCount == 0 }
    }

    @Test func anEarlierRunsLateEndDoesNotTakeTheNextOnesHandle() async throws {
        let service = self.makeService()
        for _ in 0..<500 {
            self.channel.setRule { _ in throw MobileTokenError(.unknownActivation, "removed") }
            await service.startPolling()
            await until { !service.isPolling }
            self.channel.setRule { _ in SampleAnswer.list("a") }
            await service.stopPolling()
            await service.startPolling()
            try #require(service.isPolling)
            await until { self.clock.sleeperCount == 1 }
            await service.stopPolling()
            try #require(!service.isPolling)
        }
    }

    @Test func askingByHandDoesNotWaitForRetryAfter() async throws {
        let service = self.makeService()
        await service.startPolling()
        #expect(await self.fail(retryAfter: .seconds(86_400)) == .seconds(15 * 60))
        async let operations = service.operations()
        await self.channel.nextRequest().answer(SampleAnswer.list("a"))
        #expect(try await operations.map(\.id) == ["a"])
        await service.stopPolling()
    }

    /// Such as one after an expiry.
    @Test func aPollWaitsAsTheAnswerToAnotherFetchAskedFor() async throws {
        let service = self.makeService()
        await service.startPolling(every: .seconds(10))
        #expect(await self.answer("a") == .seconds(10))
        let fetching = Task { try? await service.operations() }
        await self.channel.nextRequest()
            .fail(MobileTokenError(.httpStatus, "unavailable", httpStatus: 503, retryAfter: .seconds(100)))
        _ = await fetching.value
        self.clock.advance(by: .seconds(10))
        #expect(await self.clock.nextSleep() == .seconds(95))
        #expect(self.channel.requestCount == 2)
        await service.stopPolling()
    }

    /// It asked at once, to show what became of the decision.
    @Test func aPollWaitsAsTheAnswerToADecisionAskedFor() async throws {
        let service = self.makeService()
        await service.startPolling(every: .seconds(10))
        #expect(await self.answer("a") == .seconds(10))
        let twoFactors = Activation.Authentication.possessionAndKnowledge(password: "1234")
        let deciding = Task { try? await service.authorize(UserOperation.sample("a"), with: twoFactors) }
        await self.channel.nextRequest()
            .fail(MobileTokenError(.httpStatus, "unavailable", httpStatus: 503, retryAfter: .seconds(100)))
        _ = await deciding.value
        #expect(await self.clock.nextSleep() == .seconds(105))
        #expect(self.channel.requestCount == 2)
        // So does a list whose operation expires meanwhile.
        await service.refresh(ifListing: ["a"])
        #expect(!service.isLoadingOperations)
        await service.stopPolling()
    }

    // MARK: Push

    @Test(arguments: [
        PushPayload.operationCreated(id: "a", name: "login", content: nil),
        .operationFinished(id: "a", name: "login", result: .success),
        .activationStatusChanged(activationID: "3f2c0d1e"),
    ])
    func aPushFetchesTheListWhenNobodyPolls(push: PushPayload) async {
        let service = self.makeService()
        var changes = service.changes().makeAsyncIterator()
        service.handle(push)
        await self.channel.nextRequest().answer(SampleAnswer.list("a"))
        #expect(await changes.next()?.addedIDs == ["a"])
        await until { !service.isLoadingOperations }

        await service.startPolling(every: .seconds(60))
        #expect(await self.answer("a") == .seconds(60))
        service.handle(push)
        #expect(await self.clock.nextSleep() == .seconds(5))  // as a poll, when that is due
        await service.stopPolling()
        #expect(self.channel.requestCount == 2)
    }

    @Test func aCallbackIsAHintAsAPushIsAndAFloodOfThemOnePoll() async throws {
        let json = #"{"type":"OPERATION","operationId":"unknown","status":"APPROVED"}"#
        let callback = try #require(OperationCallback(parsing: Array(json.utf8)))
        let service = self.makeService()
        var changes = service.changes().makeAsyncIterator()
        service.handle(callback)
        await self.channel.nextRequest().answer(SampleAnswer.list("a"))
        #expect(await changes.next()?.addedIDs == ["a"])
        await until { !service.isLoadingOperations }

        await service.startPolling(every: .seconds(900))
        #expect(await self.answer("a") == .seconds(900))
        for _ in 0..<1000 { service.handle(callback) }
        #expect(await self.clock.nextSleep() == .seconds(5))
        await service.stopPolling()
        #expect(self.channel.requestCount == 2)
    }

    @Test func aPushDuringAFetchHasAnotherFollow() async {
        let service = self.makeService()
        await service.refresh()
        let request = await self.channel.nextRequest()
        service.handle(.operationCreated(id: "a", name: "login", content: nil))
        await until { await service.isNewerListWanted }
        request.answer(SampleAnswer.list())
        await self.channel.nextRequest().answer(SampleAnswer.list("a"))
        await until { service.list.operations.map(\.id) == ["a"] }
        await until { !service.isLoadingOperations }
        #expect(self.channel.requestCount == 2)
    }

    @Test func aPushAboutSomethingElseAsksForNothing() async {
        let service = self.makeService()
        await service.startPolling(every: .seconds(60))
        #expect(await self.answer() == .seconds(60))
        self.clock.advance(by: .seconds(10))
        service.handle(.inboxMessageReceived(id: "1"))
        service.handle(.activationStatusChanged(activationID: "another"))
        service.handle(.operationCreated(id: "a", name: "login", content: nil))
        #expect(await self.answer() == .seconds(60))
        #expect(self.channel.requestCount == 2)
        await service.stopPolling()
    }

    @Test func releasingTheServiceEndsItsPolling() async {
        var service: OperationsService? = self.makeService()
        weak let released = service
        await service?.startPolling()
        #expect(await self.answer() == .seconds(7))
        service = nil
        await until { released == nil && self.clock.sleeperCount == 0 }

        var polling: OperationsService? = self.makeService()
        weak let gone = polling
        await polling?.startPolling()
        _ = await self.channel.nextRequest()
        polling = nil  // while the request is on the wire
        await until { gone == nil }
        await self.channel.waitForCancelled(1)
    }

    @Test func cancellingAtAnyPointEndsPolling() async throws {
        let channel = ScriptedChannel { _ in SampleAnswer.list("a") }
        let service = self.makeService(channel)
        for yields in 0..<100 {
            let polling = Task { try await service.poll() }
            for _ in 0..<yields { await Task.yield() }
            try await polling.stop()
            #expect(!service.isPolling)
        }
        await until { self.clock.sleeperCount == 0 }
        #expect(try await service.operations().map(\.id) == ["a"])
    }

    @Test(arguments: [.seconds(Int64.max), Duration(attoseconds: .max)])
    func anEndlessIntervalIsWaitedFor(interval: Duration) async throws {
        let service = self.makeService()
        let polling = Task { try await service.poll(every: interval) }
        #expect(await self.answer("a") == .longest)
        try await polling.stop()
        await service.startPolling(every: interval, delayStart: true, options: .spreadStart)
        #expect(await self.clock.nextSleep() == .longest)
        await service.stopPolling()
    }
}

private final class RecordingObserver: MobileTokenObserver {
    private let recorded = Mutex<[String]>([])

    var events: [String] { self.recorded.withLock { $0 } }

    private func record(_ event: String) { self.recorded.withLock { $0.append(event) } }

    func pollStarted(_ poll: MobileTokenObservation.Poll) { self.record("poll \(poll.lag) late") }

    func pollIntervalRaised(activationID: String, requested: Duration, used: Duration) {
        self.record("raised \(requested) to \(used)")
    }

    func operationListChanged(_ list: MobileTokenObservation.OperationList) {
        self.record("\(list.count) operations, \(list.added) added")
    }
}
