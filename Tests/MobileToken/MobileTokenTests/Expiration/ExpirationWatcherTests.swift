import Foundation
import MobileToken
import MobileTokenScreens
import MobileTokenTesting
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(5))) struct ExpirationWatcherTests {
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

    @Test func anEarlierDeadlineHasATimerOfItsOwn() async {
        let watcher = self.makeWatcher()
        var expirations = watcher.expirations().makeAsyncIterator()
        await watcher.add([.sample("late", expiresIn: 25)])
        #expect(await self.clock.nextSleep() == .seconds(25))
        await watcher.add([.sample("early", expiresIn: 8)])
        #expect(await self.clock.nextSleep() == .seconds(8))
        self.advance(by: 8)
        #expect(await expirations.next()?.map(\.id) == ["early"])
        await watcher.removeAll()
        await until { self.clock.sleeperCount == 0 }
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
        let service = OperationsService(activation: self.channel)
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
        await watching.stop()
    }

    @Test func endingTheWatchForgetsTheServicesOperations() async throws {
        let watcher = self.makeWatcher()
        await watcher.add([.sample("other")])
        let service = OperationsService(activation: self.channel)
        self.channel.setRule { _ in SampleAnswer.list("a", "b") }
        let watching = Task { await watcher.watch(service) }
        try await service.operations()
        await until { await watcher.count == 3 }
        await watching.stop()
        #expect(await watcher.count == 1)
        #expect(service.subscriberCount == 0)
    }

    // MARK: Until it is gone

    /// Watches a service whose list holds `ids`, and waits until the watcher sleeps to the first expiry, 10 s from now.
    private func watch(_ service: OperationsService, with watcher: ExpirationWatcher) async throws -> Task<Void, Never>
    {
        let watching = Task { await watcher.watch(service) }
        try await service.operations()
        #expect(await self.clock.nextSleep() == .seconds(10))
        return watching
    }

    private func list(_ ids: String...) -> [UInt8] {
        SampleAnswer.list(ids.map { .sampleOperation($0, expiresIn: 10) })
    }

    @Test func anOperationThatStaysListedIsAskedAboutUntilItIsGone() async throws {
        let watcher = self.makeWatcher()
        let service = OperationsService(activation: self.channel)
        self.channel.setRule { _ in self.list("a") }
        var expirations = watcher.expirations().makeAsyncIterator()
        let watching = try await self.watch(service, with: watcher)
        self.advance(by: 10)
        for (count, distance) in zip(2..., [5, 10, 20, 30, 30]) {
            #expect(await self.clock.nextSleep() == .seconds(distance))
            await until { self.channel.requestCount == count }
            await until { !service.isLoadingOperations }
            self.advance(by: distance)
        }
        #expect(await expirations.next()?.map(\.id) == ["a"])  // told once
        await until { self.channel.requestCount == 7 }
        #expect(await self.clock.nextSleep() == .seconds(30))
        self.channel.setRule { _ in SampleAnswer.list() }
        self.advance(by: 30)
        await until { await watcher.count == 0 && self.clock.sleeperCount == 0 }
        #expect(self.channel.requestCount == 8)
        await watching.stop()
    }

    @Test func aFetchThatFailsIsTriedAgain() async throws {
        let watcher = self.makeWatcher()
        let service = OperationsService(activation: self.channel)
        self.channel.setRule { _ in self.list("a") }
        let watching = try await self.watch(service, with: watcher)
        self.channel.setRule { _ in throw MobileTokenError(.noConnection, "gone") }
        self.advance(by: 10)
        #expect(await self.clock.nextSleep() == .seconds(5))
        await until { self.channel.requestCount == 2 }
        await until { !service.isLoadingOperations }
        self.channel.setRule { _ in SampleAnswer.list() }
        self.advance(by: 5)
        await until { await watcher.count == 0 }
        #expect(self.channel.requestCount == 3)
        await watching.stop()
    }

    @Test func aServerThatAskedToBeLeftAloneIsNotRemindedBefore() async throws {
        let watcher = self.makeWatcher()
        var configuration = OperationsService.Configuration()
        configuration.clock = self.clock
        let service = OperationsService(activation: self.channel, configuration: configuration)
        self.channel.setRule { _ in self.list("a") }
        let watching = try await self.watch(service, with: watcher)
        self.channel.setRule { _ in throw MobileTokenError(.httpStatus, "busy", retryAfter: .seconds(12)) }
        self.advance(by: 10)
        #expect(await self.clock.nextSleep() == .seconds(5))
        await until { self.channel.requestCount == 2 }
        await until { !service.isLoadingOperations }
        let asked = Shared<[ManualClock.Instant]>([])
        self.channel.setRule { [clock] _ in
            asked.update { $0.append(clock.now) }
            return SampleAnswer.list()
        }
        let start = self.clock.now
        self.advance(by: 5)
        #expect(await self.clock.nextSleep() == .seconds(10))
        for _ in 0..<1_000 { await Task.yield() }
        #expect(asked.value.isEmpty)
        self.advance(by: 10)
        await until { await watcher.count == 0 }
        #expect(asked.value == [start.advanced(by: .seconds(15))])
        await watching.stop()
    }

    @Test func endingOneOfTwoWatchesLeavesTheOther() async throws {
        let watcher = self.makeWatcher()
        self.channel.setRule { _ in self.list("a") }
        let (first, second) = (OperationsService(activation: self.channel), OperationsService(activation: self.channel))
        let watchingFirst = try await self.watch(first, with: watcher)
        let watchingSecond = Task { await watcher.watch(second) }
        try await second.operations()
        await watcher.add([.sample("a", expiresIn: 10), .sample("b", expiresIn: 100)])
        await until { second.subscriberCount == 1 && first.subscriberCount == 1 }
        await until { await watcher.holderCount(of: .sample("a")) == 3 }
        await watchingFirst.stop()
        #expect(first.subscriberCount == 0)
        #expect(await watcher.holderCount(of: .sample("a")) == 2)
        #expect(await watcher.operations.map(\.id) == ["a", "b"])
        await watcher.remove([.sample("a")])
        #expect(await watcher.operations.map(\.id) == ["a", "b"])
        await watcher.removeAll()
        #expect(await watcher.operations.map(\.id) == ["a"])
        self.channel.setRule { _ in SampleAnswer.list() }
        self.advance(by: 10)
        await until { await watcher.count == 0 }
        #expect(self.channel.requestCount == 3)
        await watchingSecond.stop()
    }

    @Test func aClockThatWakesEarlyDoesNotStopIt() async {
        let clock = EarlyClock(self.clock)
        let watcher = ExpirationWatcher(clock: clock) { [channel] in channel.serverDate }
        var expirations = watcher.expirations().makeAsyncIterator()
        await watcher.add([.sample("a", expiresIn: 10)])
        #expect(await self.clock.nextSleep() == .milliseconds(9_999))
        self.channel.serverDate += 9.999
        self.clock.advance(by: .milliseconds(9_999))
        #expect(await self.clock.nextSleep() == .milliseconds(1))
        self.channel.serverDate += 0.001
        self.clock.advance(by: .milliseconds(1))
        #expect(await expirations.next()?.map(\.id) == ["a"])
    }

    // MARK: Anything that expires

    private struct Ticket: Expirable, Equatable {
        let id: Int
        let expires: Date
    }

    private struct Voucher: Expirable, Equatable {
        let id: Int
        let expires: Date
    }

    @Test func itWatchesWhateverExpires() async {
        let watcher = self.makeWatcher()
        var tickets = watcher.expirations(of: Ticket.self).makeAsyncIterator()
        var vouchers = watcher.expirations(of: Voucher.self).makeAsyncIterator()
        var operations = watcher.expirations().makeAsyncIterator()
        let date = UserOperation.sampleDate
        await watcher.add([Voucher(id: 1, expires: date + 30)])
        await watcher.add([Ticket(id: 1, expires: date + 10), Ticket(id: 2, expires: date + 20)])
        await watcher.add([.sample("1", expiresIn: 25)])
        #expect(await watcher.count == 4)
        #expect(await watcher.watched.map { $0.expires.timeIntervalSince(date) } == [10, 20, 25, 30])
        #expect(await watcher.operations.map(\.id) == ["1"])
        await watcher.remove([Ticket(id: 2, expires: date)])
        #expect(await watcher.count == 3)
        for seconds in [10, 15, 5] {
            await until { self.clock.timeToNextDeadline == .seconds(seconds) }
            self.advance(by: seconds)
        }
        #expect(await tickets.next()?.map(\.id) == [1])
        #expect(await operations.next()?.map(\.id) == ["1"])
        #expect(await vouchers.next() == [Voucher(id: 1, expires: date + 30)])
        #expect(await watcher.watched.isEmpty)
    }

    @Test func operationsMadeByHandAreWatchedWhenTheyHaveAnExpiry() async {
        let watcher = self.makeWatcher()
        var expirations = watcher.expirations(of: LocalOperation.self).makeAsyncIterator()
        await watcher.add([LocalOperation(id: "endless", data: "A1")])
        #expect(self.clock.sleeperCount == 0)  // nothing to wait for
        let operation = LocalOperation(id: "a", data: "A1", expires: UserOperation.sampleDate + 10)
        await watcher.add([operation])
        #expect(await self.clock.nextSleep() == .seconds(10))
        self.advance(by: 10)
        #expect(await expirations.next() == [operation])
        #expect(await watcher.count == 1)
    }

    @Test func whatHasNoTimeOrAnEndlessOneIsNoTrap() async {
        let watcher = self.makeWatcher()
        var tickets = watcher.expirations(of: Ticket.self).makeAsyncIterator()
        let dates = [Double.nan, .infinity, -.infinity, .greatestFiniteMagnitude].map(Date.init(timeIntervalSince1970:))
        await watcher.add(dates.enumerated().map { Ticket(id: $0.offset, expires: $0.element) })
        #expect(await Set(tickets.next()?.map(\.id) ?? []) == [0, 2])
        #expect(await watcher.count == 2)
        #expect(await self.clock.nextSleep() == .seconds(30))
    }

    @Test func whatNobodyReadsDoesNotPileUp() async {
        var buffer = ExpiredItemsBuffer()
        for number in 0..<5_000 { buffer.append([.operation(.sample("\(number % 3_000)"))]) }
        let kept = buffer.removeFirst()
        #expect(kept?.count == ExpiredItemsBuffer.capacity)
        #expect((kept?.last?.item as? UserOperation)?.id == "1999")
        // The operation that expired last is kept whole.
        buffer.append([.operation(.sample("old"))])
        buffer.append((0..<1_500).map { .operation(.sample("\($0)")) })
        #expect(buffer.removeFirst()?.count == 1_500)
    }
}

/// A clock whose sleepers wake one millisecond before their time, but for those whose time is nearer.
private struct EarlyClock: Clock {
    private let clock: ManualClock

    init(_ clock: ManualClock) { self.clock = clock }

    var now: ManualClock.Instant { self.clock.now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {
        let left = self.clock.now.duration(to: deadline)
        let early = left > .milliseconds(1) ? deadline.advanced(by: .milliseconds(-1)) : deadline
        try await self.clock.sleep(until: early, tolerance: tolerance)
    }
}
