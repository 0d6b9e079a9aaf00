import MobileToken
import MobileTokenTesting
import PowerAuth
import Synchronization
import Testing
import TestSupport

/// The promises of a service that no fleet polls.
@Suite(.timeLimit(.minutes(5))) struct ServiceAloneTests {
    private let clock = ManualClock()
    private let channel = ScriptedChannel()

    private func makeService(_ channel: ScriptedChannel? = nil) -> OperationsService {
        OperationsService(activation: channel ?? self.channel, configuration: .even(self.clock))
    }

    /// Answers the poll under way and waits until the service sleeps until the next one.
    private func answer() async -> Duration? {
        await self.channel.nextRequest().answer(SampleAnswer.list("a"))
        return await self.clock.nextSleep()
    }

    @Test func nothingSleepsAndNothingIsAskedWhileNobodyPolls() async throws {
        let channel = ScriptedChannel { _ in SampleAnswer.list("a") }
        let service = self.makeService(channel)
        let streams = (service.changes(), service.events())
        try await service.operations()
        await service.refresh()
        await until { !service.isLoadingOperations }
        let polling = Task { try await service.poll() }
        await until { self.clock.sleeperCount == 1 }
        try await polling.stop()
        await until { self.clock.sleeperCount == 0 }
        #expect(service.pollingCallerCount == 0)
        let count = channel.requestCount
        self.clock.advance(by: .seconds(3600))
        await Task.yield()
        #expect(self.clock.sleeperCount == 0)
        #expect(channel.requestCount == count)
        withExtendedLifetime(streams) {}
    }

    @Test func aPollRunsInItsCallersTask() async throws {
        let observer = CallerObserver()
        let channel = ScriptedChannel(observer: observer) { _ in SampleAnswer.list("a") }
        let service = self.makeService(channel)
        let polling = CallerObserver.$caller.withValue("mine") { Task { try await service.poll() } }
        await until { self.clock.sleeperCount == 1 }
        self.clock.advance(by: .seconds(7))
        await until { channel.requestCount == 2 }
        try await polling.stop()
        #expect(observer.callers == ["mine", "mine"])
    }

    @Test func cancelingAPollTakesItsRequestOffTheWire() async throws {
        let service = self.makeService()
        var events = service.events().makeAsyncIterator()
        let polling = Task { try await service.poll() }
        _ = await self.channel.nextRequest()
        try await polling.stop()
        await self.channel.waitForCancelled(1)
        #expect(await events.next()?.name == "loading true")
        #expect(await events.next()?.name == "loading false")
        #expect(!service.isPolling)
        #expect(self.clock.sleeperCount == 0)
    }

    @Test func manyPollersMakeOneRequestAnIntervalAndACanceledOneHandsOver() async throws {
        let channel = ScriptedChannel { _ in SampleAnswer.list("a") }
        let service = self.makeService(channel)
        var polls = (0..<8).map { _ in Task { try await service.poll(every: .seconds(10)) } }
        await until { service.pollingCallerCount == 8 }
        await until { self.clock.timeToNextDeadline == .seconds(10) }
        #expect(channel.requestCount == 1)  // the first is at once
        while polls.count > 1 {
            self.clock.advance(by: .seconds(3))
            let canceled = polls.removeFirst()
            try await canceled.stop()
            // Whoever polls now goes on where the schedule was.
            await until { self.clock.timeToNextDeadline == .seconds(7) }
            self.clock.advance(by: .seconds(7))
            await until { self.clock.timeToNextDeadline == .seconds(10) }
            #expect(channel.requestCount == 1 + 8 - polls.count)
            #expect(service.isPolling)
        }
        try await polls[0].stop()
        #expect(!service.isPolling)
        #expect(channel.requestCount == 8)
    }

    @Test func theEndOfPollingIsSeenAsAWhole() async throws {
        let service = self.makeService()
        let changes = service.changes()
        let polls = (0..<4).map { _ in
            Task {
                do {
                    try await service.poll()
                    return "went on"
                } catch {
                    let code = (error as? MobileTokenError)?.code.description ?? "another error"
                    return "\(code), polling \(service.isPolling), ended \(service.endReason?.code.description ?? "-")"
                }
            }
        }
        let reader = Task {
            for await _ in changes {}
            return "polling \(service.isPolling), ended \(service.endReason?.code.description ?? "-")"
        }
        await until { service.pollingCallerCount == 4 }
        await self.channel.nextRequest().fail(MobileTokenError(.activationRemoved, "over"))
        for poll in polls {
            #expect(await poll.value == "activationRemoved, polling false, ended activationRemoved")
        }
        #expect(await reader.value == "polling false, ended activationRemoved")
    }

    @Test func stopPollingEndsNeitherOtherPollsNorWhatOthersWaitFor() async throws {
        let service = self.makeService()
        await service.startPolling(every: .seconds(10))
        let request = await self.channel.nextRequest()
        let byHand = Task { try await service.poll(every: .seconds(20)) }
        async let operations = service.operations()
        await until { service.pollingCallerCount == 2 }
        await until { await service.fetchWaiterCount == 2 }
        await service.stopPolling()
        await service.stopPolling()
        request.answer(SampleAnswer.list("a"))
        #expect(try await operations.map(\.id) == ["a"])
        #expect(self.channel.cancelledCount == 0)
        #expect(service.isPolling)
        // The poll that was given up is made up for, on the schedule that was begun.
        await until { self.clock.timeToNextDeadline == .seconds(5) }
        self.clock.advance(by: .seconds(5))
        _ = await self.answer()
        await until { self.clock.timeToNextDeadline == .seconds(10) }
        try await byHand.stop()
        #expect(!service.isPolling)
    }
}

/// Notes which task a poll began in.
private final class CallerObserver: MobileTokenObserver {
    @TaskLocal static var caller = "another"

    private let recorded = Mutex<[String]>([])

    var callers: [String] { self.recorded.withLock { $0 } }

    func pollStarted(_ poll: MobileTokenObservation.Poll) { self.recorded.withLock { $0.append(Self.caller) } }
}
