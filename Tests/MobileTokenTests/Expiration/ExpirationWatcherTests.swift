import Foundation
import MobileToken
import MobileTokenTesting
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(4))) struct ExpirationWatcherTests {
    private let clock = ManualClock()
    private let channel = ScriptedChannel()

    private func makeWatcher() -> ExpirationWatcher {
        ExpirationWatcher(clock: self.clock) { [channel] in channel.serverDate }
    }

    /// Lets both clocks run.
    private func advance(by seconds: Int) {
        self.channel.serverDate += Double(seconds)
        self.clock.advance(by: .seconds(seconds))
    }

    @Test func operationsAreReportedWhenTheyExpire() async {
        let watcher = self.makeWatcher()
        var expirations = watcher.expirations().makeAsyncIterator()
        await watcher.add([.sample("b", expiresIn: 20), .sample("a", expiresIn: 10)])
        #expect(await self.clock.nextSleep() == .seconds(10))
        self.advance(by: 10)
        #expect(await expirations.next()?.map(\.id) == ["a"])
        #expect(await self.clock.nextSleep() == .seconds(10))
        self.advance(by: 10)
        #expect(await expirations.next()?.map(\.id) == ["b"])
        await until { await watcher.count == 0 && self.clock.sleeperCount == 0 }
    }

    @Test func anEarlierDeadlineReplacesTheTimer() async {
        let watcher = self.makeWatcher()
        await watcher.add([.sample("late", expiresIn: 25)])
        #expect(await self.clock.nextSleep() == .seconds(25))
        await watcher.add([.sample("early", expiresIn: 8)])
        #expect(await self.clock.nextSleep() == .seconds(8))
        await until { self.clock.sleeperCount == 1 }
        await watcher.removeAll()
        await until { self.clock.sleeperCount == 0 }
    }

    @Test func aTimerThatFindsNothingExpiredIsSetAgain() async {
        let watcher = self.makeWatcher()
        var expirations = watcher.expirations().makeAsyncIterator()
        await watcher.add([.sample("a", expiresIn: 10)])
        #expect(await self.clock.nextSleep() == .seconds(10))
        self.channel.serverDate -= 5  // the wall clock is set back
        self.advance(by: 10)
        #expect(await self.clock.nextSleep() == .seconds(5))
        self.advance(by: 5)
        #expect(await expirations.next()?.map(\.id) == ["a"])
    }

    @Test func aJumpForwardIsNoticed() async {
        let watcher = self.makeWatcher()
        var expirations = watcher.expirations().makeAsyncIterator()
        await watcher.add([.sample("a", expiresIn: 86_400)])
        #expect(await self.clock.nextSleep() == .seconds(30))
        self.channel.serverDate += 86_400
        self.advance(by: 30)
        #expect(await expirations.next()?.map(\.id) == ["a"])
    }

    @Test func aSlowReaderGetsEverythingAtOnce() async {
        let watcher = self.makeWatcher()
        var expirations = watcher.expirations().makeAsyncIterator()
        await watcher.add([.sample("a", expiresIn: 10), .sample("b", expiresIn: 20)])
        for count in [1, 0] {
            #expect(await self.clock.nextSleep() == .seconds(10))
            self.advance(by: 10)
            await until { await watcher.count == count }
        }
        #expect(await expirations.next()?.map(\.id) == ["a", "b"])
    }

    @Test func releasingTheWatcherEndsItsTimerAndStreams() async {
        var watcher: ExpirationWatcher? = self.makeWatcher()
        weak let released = watcher
        let expirations = watcher?.expirations()
        let reader = Task { if let expirations { for await _ in expirations {} } }
        await watcher?.add([.sample("a", expiresIn: 10)])
        #expect(await self.clock.nextSleep() == .seconds(10))
        watcher = nil
        await reader.value
        await until { released == nil && self.clock.sleeperCount == 0 }
    }

    @Test func watchingAServiceKeepsInStepAndAsksTheServerOnExpiry() async throws {
        let watcher = self.makeWatcher()
        let service = OperationsService(channel: self.channel)
        self.channel.setRule { _ in
            SampleAnswer.list([.sampleOperation("a", expiresIn: 10), .sampleOperation("b", expiresIn: 300)])
        }
        let watching = Task { await watcher.watch(service) }
        try await service.operations()
        await until { await watcher.count == 2 }
        _ = await self.clock.nextSleep()

        var changes = service.changes().makeAsyncIterator()
        _ = await changes.next()
        self.channel.setRule { _ in SampleAnswer.list([.sampleOperation("b", expiresIn: 300)]) }
        self.advance(by: 10)
        let change = await changes.next()
        #expect(change?.removed.map(\.reason) == [.expired])
        #expect(self.channel.requestCount == 2)

        self.channel.setRule { _ in SampleAnswer.list() }
        try await service.operations()
        await until { await watcher.count == 0 }
        watching.cancel()
        await watching.value
    }

    @Test func endingTheWatchForgetsTheServicesOperations() async throws {
        let watcher = self.makeWatcher()
        await watcher.add([.sample("other")])
        let service = OperationsService(channel: self.channel)
        self.channel.setRule { _ in SampleAnswer.list("a", "b") }
        let watching = Task { await watcher.watch(service) }
        try await service.operations()
        await until { await watcher.count == 3 }
        watching.cancel()
        await watching.value
        #expect(await watcher.count == 1)
        #expect(service.subscriberCount == 0)
    }
}
