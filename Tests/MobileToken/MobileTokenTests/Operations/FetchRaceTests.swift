import ExactJSON
import Foundation
import MobileToken
import MobileTokenTesting
import PowerAuth
import Testing
import TestSupport

/// Asks at the worst of moments whether a list is being fetched.
@Suite(.timeLimit(.minutes(5))) struct FetchRaceTests {
    private let channel = ScriptedChannel()
    private let service: OperationsService

    init() {
        self.service = OperationsService(activation: self.channel)
    }

    /// The events as they come, for a test that acts the moment it sees one.
    private func untilIdle(_ events: inout AsyncStream<OperationsService.Event>.Iterator) async {
        while let event = await events.next(isolation: #isolation) {
            if case .loading(false) = event { return }
        }
    }

    @Test func aRefreshRightAfterTheEndOfALoadIsNotLost() async throws {
        self.channel.setRule { _ in SampleAnswer.list("a") }
        var events = self.service.events().makeAsyncIterator()
        for round in 1...2_000 {
            await self.service.refresh()
            await self.untilIdle(&events)
            try #require(self.channel.requestCount == round)
        }
    }

    @Test func askingRightAfterTheEndOfALoadMakesANewRequest() async throws {
        self.channel.setRule { _ in SampleAnswer.list("\(self.channel.requestCount)") }
        var events = self.service.events().makeAsyncIterator()
        for round in 1...1_000 {
            await self.service.refresh()
            await self.untilIdle(&events)
            let ids = try await self.service.operations().map(\.id)
            try #require(ids == ["\(2 * round)"])
            await self.untilIdle(&events)
        }
    }

    @Test func aCanceledFetchDoesNotTakeItsSuccessorsPlace() async throws {
        self.channel.setRule { _ in SampleAnswer.list("\(self.channel.requestCount)") }
        for round in 0..<1_000 {
            let canceled = Task { try await self.service.operations() }
            for _ in 0..<(round % 7) { await Task.yield() }
            canceled.cancel()
            let ids = try await self.service.operations().map(\.id)
            // The answer that came in time is the list now, whoever asked for it.
            try #require(self.service.list.operations.map(\.id) == ids)
            try #require(self.service.lastFetchResult?.get().operations.map(\.id) == ids)
            _ = await canceled.result
        }
        await until { !self.service.isLoadingOperations }
    }

    @Test func aFetchThatEverybodyLeftIsSupersededAtOnce() async throws {
        let left = Task { try await self.service.operations() }
        let old = await self.channel.nextRequest()
        await #expect(throws: CancellationError.self) { try await left.stop() }
        async let operations = self.service.operations()
        let new = await self.channel.nextRequest()
        old.answer(SampleAnswer.list("old"))
        new.answer(SampleAnswer.list("new"))
        #expect(try await operations.map(\.id) == ["new"])
        #expect(self.service.list.operations.map(\.id) == ["new"])
        #expect(!self.service.isLoadingOperations)
    }

    @Test func aRefreshWhileLoadingOutlivesTheCallerWhoBegan() async throws {
        let caller = Task { try await self.service.operations() }
        let request = await self.channel.nextRequest()
        await self.service.refresh()
        await #expect(throws: CancellationError.self) { try await caller.stop() }
        request.answer(SampleAnswer.list("a"))
        await until { !self.service.isLoadingOperations }
        #expect(self.service.list.operations.map(\.id) == ["a"])
        #expect(self.channel.cancelledCount == 0)
    }

    @Test func everyRefreshOfManyTasksEndsInAListAsNewAsItself() async throws {
        self.channel.setRule { _ in SampleAnswer.list("\(self.channel.requestCount)") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<300 {
                        let before = self.channel.requestCount
                        let ids = try await self.service.operations().map(\.id)
                        // A shared request may have been made before the call, but not ended before it.
                        try #require((Int(ids.first ?? "") ?? 0) >= before)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(!self.service.isLoadingOperations)
    }

    @Test func anUrgentCallerIsNotServedInTheBackground() async throws {
        let (door, opener) = AsyncStream.makeStream(of: Void.self)
        let priority = Shared(TaskPriority.background)
        let channel = PriorityChannel(door: door, priority: priority)
        let service = OperationsService(activation: channel)
        let idle = Task(priority: .background) { try await service.operations() }
        await until { await service.fetchWaiterCount == 1 }
        let urgent = Task(priority: .high) { try await service.operations() }
        await until { await service.fetchWaiterCount == 2 }
        opener.yield()
        _ = try await (idle.value, urgent.value)
        #expect(priority.value >= .high)
    }

    // MARK: The merged list

    @Test func theListTellsItsIssuesItsDateAndItsAge() async throws {
        let clock = ManualClock()
        let service = OperationsService(activation: self.channel, configuration: altered(.init()) { $0.clock = clock })
        #expect(service.list == OperationList(operations: []))
        #expect(service.list.age == nil)

        let list = JSONValue.array([.sampleOperation("a"), ["id": "b"]])
        self.channel.setRule { _ in
            JSONValue.object([
                "status": "OK", "currentTimestamp": "2023-11-14T22:13:27+0000", "responseObject": list,
            ]).serialized()
        }
        let fetched = try await service.fetchList()
        #expect(fetched.operations.map(\.id) == ["a"])
        #expect(fetched.issues.map(\.path) == ["responseObject[1].name"])
        #expect(fetched.currentTimestamp == UserOperation.sampleDate + 7)
        #expect(fetched.age == .zero)
        clock.advance(by: .seconds(12))
        #expect(service.list == fetched)
        #expect(service.list.age == .seconds(12))

        // The same again is as new as its request; a failure makes nothing newer.
        _ = try await service.fetchList()
        #expect(service.list.age == .zero)
        clock.advance(by: .seconds(3))
        self.channel.setRule { _ in throw MobileTokenError(.noConnection, "gone") }
        await #expect(throws: MobileTokenError.self) { try await service.operations() }
        #expect(service.list.age == .seconds(3))
        #expect(throws: MobileTokenError.self) { try service.lastFetchResult?.get() }
    }

    @Test func askingAfterADecisionNeverShowsTheDecidedOperation() async throws {
        self.channel.setRule { _ in SampleAnswer.list("a", "b") }
        try await self.service.operations()
        self.channel.setRule(nil)
        // A list is on its way since before the decision, and shows what was then.
        await self.service.refresh()
        let fetch = await self.channel.nextRequest()
        async let authorized = self.service.authorize(
            UserOperation.sample("a"),
            with: .possessionAndKnowledge(password: "1234")
        )
        await self.channel.nextRequest().answer(SampleAnswer.ok)
        _ = try await authorized
        async let operations = self.service.operations()
        await until { await self.service.fetchWaiterCount == 2 }
        fetch.answer(SampleAnswer.list("a", "b"))
        #expect(try await operations.map(\.id) == ["b"])
        #expect(try self.service.lastFetchResult?.get().operations.map(\.id) == ["b"])
        #expect(self.service.list.operations.map(\.id) == ["b"])
        // The same bytes again are news now: the server still lists it after the decision.
        self.channel.setRule { _ in SampleAnswer.list("a", "b") }
        #expect(try await self.service.operations().map(\.id) == ["a", "b"])
    }

    @Test func aDecisionThatFailedLeavesTheOperationToTheServer() async throws {
        self.channel.setRule { _ in SampleAnswer.list("a", "b") }
        try await self.service.operations()
        self.channel.setRule(nil)
        await self.service.refresh()
        let fetch = await self.channel.nextRequest()
        let authorized = Task {
            try await self.service.authorize(UserOperation.sample("a"), with: .possessionAndKnowledge(password: "1234"))
        }
        await self.channel.nextRequest().fail(MobileTokenError(.authenticationFailed, "no"))
        await #expect(throws: MobileTokenError.self) { try await authorized.value }
        fetch.answer(SampleAnswer.list("a", "b"))
        await until { !self.service.isLoadingOperations }
        #expect(self.service.list.operations.map(\.id) == ["a", "b"])
    }

    @Test func aClaimsLateResponseDoesNotBringADecidedOperationBack() async throws {
        async let claimed = self.service.claim(id: "a")
        let claim = await self.channel.nextRequest()
        async let operations = self.service.operations()
        await self.channel.nextRequest().answer(SampleAnswer.list("a"))
        let operation = try #require(try await operations.first)
        async let authorized = self.service.authorize(operation, with: .possessionAndKnowledge(password: "1234"))
        await self.channel.nextRequest().answer(SampleAnswer.ok)
        _ = try await authorized
        var changes = self.service.changes().makeAsyncIterator()
        claim.answer(SampleAnswer.object(.sampleOperation("a")))
        #expect(try await claimed.id == "a")
        #expect(self.service.list.operations == [])
        // The next claim is its own matter.
        self.channel.setRule { _ in SampleAnswer.object(.sampleOperation("a")) }
        try await self.service.claim(id: "a")
        #expect(await changes.next()?.addedIDs == ["a"])
    }

    @Test func aMereChangeOfOrderReachesWhatIsUnread() async throws {
        self.channel.setRule { _ in SampleAnswer.list("a", "b", "c") }
        var changes = self.service.changes().makeAsyncIterator()
        var events = self.service.events().makeAsyncIterator()
        try await self.service.operations()
        self.channel.setRule { _ in SampleAnswer.list("c", "a", "b") }
        try await self.service.operations()
        let change = await changes.next()
        #expect(change?.operationIDs == ["c", "a", "b"])
        #expect(change?.addedIDs == ["c", "a", "b"])
        #expect(await events.next()?.name == "loading true")
        #expect(await events.next()?.name == "changed c a b")
        var late = self.service.changes().makeAsyncIterator()
        #expect(await late.next()?.addedIDs == ["c", "a", "b"])
    }
}

/// Tells at which priority a request goes on.
private final class PriorityChannel: AuthenticatedChannel {
    let activationID = "1"
    let serverDate = UserOperation.sampleDate
    private let door: AsyncStream<Void>
    private let priority: Shared<TaskPriority>

    init(door: AsyncStream<Void>, priority: Shared<TaskPriority>) {
        self.door = door
        self.priority = priority
    }

    func post(
        _ path: String,
        body: [UInt8],
        authentication: RequestAuthentication,
        acceptLanguage: String,
        decision: DecisionIntent?
    ) async throws -> ChannelResponse {
        for await _ in self.door { break }
        self.priority.value = Task.currentPriority
        return ChannelResponse(SampleAnswer.list("a"))
    }
}
