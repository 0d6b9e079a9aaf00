import ExactJSON
import Foundation
import MobileToken
import PowerAuth
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(5))) struct OperationsServiceTests {
    private let channel = ScriptedChannel()

    private func makeService(_ channel: ScriptedChannel? = nil) -> OperationsService {
        OperationsService(activation: channel ?? self.channel)
    }

    /// Waits for a condition that other tasks bring about.
    // MARK: Fetching

    @Test func aFetchAsksForTheListAndKeepsIt() async throws {
        let service = self.makeService()
        async let operations = service.operations()
        let request = await self.channel.nextRequest()
        #expect(request.path == "/api/auth/token/app/operation/list")
        #expect(request.json == [:])
        #expect(request.acceptLanguage == "en")
        #expect(service.isLoadingOperations)
        request.answer(SampleAnswer.list("a", "b"))
        #expect(try await operations.map(\.id) == ["a", "b"])
        #expect(!service.isLoadingOperations)
        #expect(try service.lastFetchResult?.get().operations.count == 2)
    }

    @Test func aHundredCallersShareOneRequest() async throws {
        let service = self.makeService()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<100 { group.addTask { try await service.operations().count } }
            await until { await service.fetchWaiterCount == 100 }
            await self.channel.nextRequest().answer(SampleAnswer.list("a"))
            for try await count in group { #expect(count == 1) }
        }
        #expect(self.channel.requestCount == 1)
    }

    @Test func theSharedRequestEndsWithItsLastCaller() async throws {
        let service = self.makeService()
        let callers = (0..<3).map { _ in Task { try await service.operations() } }
        await until { await service.fetchWaiterCount == 3 }
        let request = await self.channel.nextRequest()
        for caller in callers.dropLast() {
            await #expect(throws: CancellationError.self) { try await caller.stop() }
        }
        #expect(self.channel.cancelledCount == 0)
        await #expect(throws: CancellationError.self) { try await callers[2].stop() }
        await self.channel.waitForCancelled(1)
        request.answer(SampleAnswer.list("late"))  // to nobody

        async let operations = service.operations()
        await self.channel.nextRequest().answer(SampleAnswer.list("a"))
        #expect(try await operations.map(\.id) == ["a"])
        #expect(service.lastFetchResult != nil)
    }

    @Test func refreshReturnsAtOnceAndOutlivesOtherCallers() async throws {
        let service = self.makeService()
        var changes = service.changes().makeAsyncIterator()
        await service.refresh()
        await service.refresh()
        let caller = Task { try await service.operations() }
        await until { await service.fetchWaiterCount == 2 }
        await #expect(throws: CancellationError.self) { try await caller.stop() }
        await self.channel.nextRequest().answer(SampleAnswer.list("a"))
        #expect(await changes.next()?.addedIDs == ["a"])
        #expect(self.channel.requestCount == 1)

        await until { service.isLoadingOperations == false }
        await until {
            await service.refresh()
            return self.channel.requestCount == 2  // and the next refresh fetches again
        }
    }

    @Test(arguments: [
        "", "garbage", #"{"status":"OK","responseObject":[{"id":"a""#, #"{"status":"OK"}"#, "[]", "null", "\u{FFFD}",
        #"{"status":"OK","responseObject":{}}"#,
    ])
    func anUnreadableAnswerIsAnErrorAndTheListStays(answer: String) async throws {
        let channel = ScriptedChannel { _ in SampleAnswer.list("a") }
        let service = self.makeService(channel)
        try await service.operations()
        channel.setRule { _ in Array(answer.utf8) }
        let error = await #expect(throws: MobileTokenError.self) { try await service.operations() }
        #expect(error?.code == .invalidResponse)
        let result = service.lastFetchResult
        #expect(throws: MobileTokenError.self) { try result?.get() }
        var changes = service.changes().makeAsyncIterator()
        #expect(await changes.next()?.operationIDs == ["a"])
    }

    @Test func aFailureReachesTheEventsAndTheNextFetchSucceeds() async throws {
        let service = self.makeService()
        var events = service.events().makeAsyncIterator()
        let caller = Task { try await service.operations() }
        await self.channel.nextRequest().fail(MobileTokenError(.noConnection, "gone"))
        await #expect(throws: MobileTokenError.self) { try await caller.value }
        #expect(await events.next()?.name == "loading true")
        #expect(await events.next()?.name == "failed noConnection")
        #expect(await events.next()?.name == "loading false")

        async let operations = service.operations()
        await self.channel.nextRequest().answer(SampleAnswer.list("a"))
        _ = try await operations
        #expect(await events.next()?.name == "loading true")
        #expect(await events.next()?.name == "changed a")
        #expect(await events.next()?.name == "loading false")
    }

    @Test func aCancelledFetchIsNoFailure() async {
        let service = self.makeService()
        var events = service.events().makeAsyncIterator()
        let caller = Task { try await service.operations() }
        _ = await self.channel.nextRequest()
        caller.cancel()
        _ = await caller.result
        #expect(await events.next()?.name == "loading true")
        #expect(await events.next()?.name == "loading false")
        #expect(service.lastFetchResult == nil)
    }

    @Test func anAnswerThatOnlyTellsAnotherTimeIsNoChange() async throws {
        @Sendable func answer(_ time: String) -> [UInt8] {
            let list = JSONValue.array([.sampleOperation("a")])
            return JSONValue.object(["status": "OK", "currentTimestamp": .string(time), "responseObject": list])
                .serialized()
        }
        let channel = ScriptedChannel { _ in answer("2023-11-14T22:13:20+0000") }
        let service = self.makeService(channel)
        var changes = service.changes().makeAsyncIterator()
        try await service.operations()
        #expect(await changes.next()?.addedIDs == ["a"])
        channel.setRule { _ in answer("2023-11-14T22:13:27+0000") }
        #expect(try await service.operations().map(\.id) == ["a"])
        let expected = UserOperation.sampleDate + 7
        #expect(try service.lastFetchResult?.get().currentTimestamp == expected)
        channel.setRule { _ in SampleAnswer.list("a", "b") }
        try await service.operations()
        #expect(await changes.next()?.addedIDs == ["b"])
    }

    @Test func anIdentifierThatComesTwiceCountsOnceAndIsReported() async throws {
        let channel = ScriptedChannel { _ in SampleAnswer.list("a", "b", "a") }
        let service = self.makeService(channel)
        #expect(try await service.operations().map(\.id) == ["a", "b"])
        #expect(try service.lastFetchResult?.get().issues.map(\.path) == ["responseObject[2].id"])
    }

    // MARK: Streams

    @Test func aSlowSubscriberGetsOneMergedChange() async throws {
        let service = self.makeService()
        var slow = service.changes().makeAsyncIterator()
        self.channel.setRule { _ in SampleAnswer.list("a", "b") }
        try await service.operations()
        #expect(await slow.next()?.addedIDs == ["a", "b"])
        for ids in [["a", "b", "c"], ["b", "c", "d"], ["b", "d"]] {
            self.channel.setRule { _ in SampleAnswer.list(ids.map { .sampleOperation($0) }) }
            try await service.operations()
        }
        let merged = await slow.next()
        #expect(merged?.operationIDs == ["b", "d"])
        #expect(merged?.addedIDs == ["d"])
        #expect(merged?.removedIDs == ["a"])
    }

    @Test func subscribersAreIndependentAndDroppingOneEndsIt() async throws {
        let service = self.makeService()
        self.channel.setRule { _ in SampleAnswer.list("a") }
        var first = service.changes().makeAsyncIterator()
        var second: AsyncStream<OperationList.Change>.Iterator? = service.changes().makeAsyncIterator()
        #expect(service.subscriberCount == 2)
        try await service.operations()
        #expect(await first.next()?.addedIDs == ["a"])
        #expect(await second?.next()?.addedIDs == ["a"])
        second = nil
        #expect(service.subscriberCount == 1)
        var third = service.changes().makeAsyncIterator()
        let change = await third.next()
        #expect(change?.addedIDs == ["a"])
        #expect(change?.source == .subscription)
    }

    @Test func aStreamBeginsWithItsCallAndEndsWhenItIsLetGo() async throws {
        let service = self.makeService()
        self.channel.setRule { _ in SampleAnswer.list("a") }
        do {
            let changes = service.changes()
            #expect(service.subscriberCount == 1)
            try await service.operations()
            for await change in changes {
                #expect(change.addedIDs == ["a"])
                #expect(change.source == .fetch)  // one that began with the loop would find the list there
                break
            }
            #expect(service.subscriberCount == 1)
        }
        #expect(service.subscriberCount == 0)
    }

    @Test func aCanceledReaderIsNoReaderWhoeverHoldsItsStream() async throws {
        let service = self.makeService()
        let changes = service.changes()
        let reader = Task { for await _ in changes {} }
        await reader.stop()
        #expect(service.subscriberCount == 0)
        // The stream is over; another begins with the list.
        self.channel.setRule { _ in SampleAnswer.list("a") }
        try await service.operations()
        for await _ in changes { Issue.record("a stream went on behind its end") }
        for await change in service.changes() {
            #expect(change.addedIDs == ["a"])
            break
        }
    }

    @Test func nothingSlipsBetweenTheFirstChangeAndTheNext() async throws {
        let service = self.makeService()
        self.channel.setRule { request in
            SampleAnswer.list((0...self.channel.requestCount).map { .sampleOperation("\($0)") })
        }
        let last = 60
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    var seen: [String] = []
                    for await change in service.changes() {
                        seen += change.addedIDs
                        #expect(seen == change.operationIDs)
                        if seen.count > last { return }
                    }
                }
            }
            for _ in 0..<last { _ = try? await service.operations() }
        }
    }

    // MARK: Life

    @Test func releasingTheServiceEndsItsStreams() async {
        var service: OperationsService? = self.makeService()
        let changes = service?.changes()
        let events = service?.events()
        weak let released = service
        let readers = Task {
            async let first: Void = { if let changes { for await _ in changes {} } }()
            async let second: Void = { if let events { for await _ in events {} } }()
            _ = await (first, second)
        }
        await until { service?.subscriberCount == 2 }
        service = nil
        await readers.value
        #expect(released == nil)
        if let changes { for await _ in changes { Issue.record("an ended stream has nothing to tell") } }
    }

    @Test func releasingTheServiceTakesItsRefreshOffTheWire() async {
        var service: OperationsService? = self.makeService()
        weak let released = service
        await service?.refresh()
        _ = await self.channel.nextRequest()
        service = nil
        await until { released == nil }
        await self.channel.waitForCancelled(1)
        #expect(self.channel.pendingCount == 0)
    }

    @Test func languageIsSentWithEveryRequest() async throws {
        let channel = ScriptedChannel { request in
            #expect(request.acceptLanguage == "cs, en;q=0.8")
            return SampleAnswer.list()
        }
        let service = self.makeService(channel)
        await service.setAcceptLanguage(try MobileTokenClient.AcceptLanguage("cs, en;q=0.8"))
        try await service.operations()
        _ = try await service.history(authenticatedBy: .possessionAndKnowledge(password: "1234"))
        #expect(channel.requestCount == 2)
        #expect(service.acceptLanguage.description == "cs, en;q=0.8")
    }

    @Test func theServersTimeIsTheChannels() {
        self.channel.serverDate = UserOperation.sampleDate + 42
        #expect(self.makeService().currentServerDate == UserOperation.sampleDate + 42)
        self.channel.hasToldTheTime = false
        #expect(self.makeService().currentServerDate == nil)
    }
}

extension OperationsService.Event {
    var name: String {
        switch self {
        case .loading(let isLoading): "loading \(isLoading)"
        case .changed(let change): "changed \(change.operationIDs.joined(separator: " "))"
        case .unreadable(let operations): "unreadable \(operations.map { $0.id ?? "" }.joined(separator: " "))"
        case .failed(let error): "failed \(error.code)"
        }
    }
}
