import Testing
import TestSupport

@testable import PowerAuth

/// Lets a test decide when work goes on. A cancelled waiter leaves at once.
private final class Door: Sendable {
    private let stream: AsyncStream<Void>
    private let opener: AsyncStream<Void>.Continuation
    let visitors = Shared(0)

    init() { (self.stream, self.opener) = AsyncStream.makeStream() }

    func open() { self.opener.yield() }

    func pass() async throws {
        self.visitors.update { $0 += 1 }
        for await _ in self.stream { return }
        throw CancellationError()
    }
}

@Suite(.timeLimit(.minutes(5))) struct SingleFlightTests {
    private let flight = SingleFlight<Int>()
    private let door = Door()

    private func untilVisited(_ count: Int) async {
        await until { self.door.visitors.value >= count }
    }

    @Test func aHundredCallersShareOneRun() async throws {
        let joined = Shared(0)
        let values = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    joined.update { $0 += 1 }
                    return try await self.flight.run {
                        try await self.door.pass()
                        return 7
                    }
                }
            }
            await until { joined.value == 100 && self.flight.waiterCount == 100 }
            self.door.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(values == Array(repeating: 7, count: 100))
        #expect(self.door.visitors.value == 1)
    }

    @Test func oneCancelledWaiterLeavesTheOthersTheirResult() async throws {
        let work: @Sendable () async throws -> Int = {
            try await self.door.pass()
            return 1
        }
        let impatient = Task { try await self.flight.run(work) }
        let patient = Task { try await self.flight.run(work) }
        await until { self.flight.waiterCount == 2 }
        await self.untilVisited(1)
        impatient.cancel()
        await #expect(throws: CancellationError.self) { try await impatient.value }
        self.door.open()
        #expect(try await patient.value == 1)
    }

    @Test func theWorkIsCancelledWithItsLastWaiterAndStartsAnewAfterwards() async throws {
        let wasCancelled = Shared(false)
        let only = Task {
            try await self.flight.run {
                do {
                    try await self.door.pass()
                } catch {
                    wasCancelled.value = true
                    throw error
                }
                return 1
            }
        }
        await self.untilVisited(1)
        only.cancel()
        await #expect(throws: CancellationError.self) { try await only.value }
        await until { wasCancelled.value }
        #expect(try await self.flight.run { 2 } == 2)
    }

    @Test func aFailureReachesEveryWaiterAndIsNotKept() async throws {
        struct Failure: Error {}
        await #expect(throws: Failure.self) { _ = try await self.flight.run { throw Failure() } }
        #expect(try await self.flight.run { 3 } == 3)
    }
}

@Suite(.timeLimit(.minutes(5))) struct UncancellableTaskTests {
    @Test func theWorkGoesOnWhenItsCallerIsCancelled() async throws {
        let door = Door()
        let finished = Shared(false)
        let caller = Task {
            try await UncancellableTask.run { _ in
                try await door.pass()
                finished.value = true
            }
        }
        await until { door.visitors.value == 1 }
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
        #expect(!finished.value)
        door.open()
        await until { finished.value }
    }

    @Test func theWorkIsToldThatNobodyWaits() async throws {
        let door = Door()
        let refused = Shared(false)
        let caller = Task {
            try await UncancellableTask.run { caller in
                try caller.checkIsWaiting()
                try await door.pass()
                do {
                    try caller.checkIsWaiting()
                } catch {
                    refused.value = true
                }
            }
        }
        await until { door.visitors.value == 1 }
        caller.cancel()
        _ = await caller.result
        door.open()
        await until { refused.value }
    }

    @Test func workThatHasNotBegunIsCanceledWithItsCaller() async throws {
        let isWaiting = Shared(false)
        let wasCanceled = Shared(false)
        let began = Shared(false)
        let task = Task {
            try await UncancellableTask.runOnceBegun { caller in
                isWaiting.value = true
                await waitForCancellation()
                wasCanceled.value = Task.isCancelled
                try caller.begin()
                began.value = true
            }
        }
        await until { isWaiting.value }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await until { wasCanceled.value }
        #expect(!began.value)
    }

    @Test func workThatHasBegunGoesOnWithoutItsCaller() async throws {
        let door = Door()
        let wasCanceled = Shared<Bool?>(nil)
        let task = Task {
            try await UncancellableTask.runOnceBegun { caller in
                try caller.begin()
                try await door.pass()
                wasCanceled.value = Task.isCancelled
            }
        }
        await until { door.visitors.value == 1 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(wasCanceled.value == nil)
        door.open()
        await until { wasCanceled.value != nil }
        #expect(wasCanceled.value == false)
    }

    @Test func workOfACallerThatWasCanceledBeforeNeverBegins() async throws {
        let ended = Shared(false)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await UncancellableTask.runOnceBegun { caller in
                defer { ended.value = true }
                try caller.begin()
                Issue.record("the work has begun")
            }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        await until { ended.value }
    }

    @Test func resultsAndFailuresComeBack() async throws {
        struct Failure: Error {}
        #expect(try await UncancellableTask.run { _ in 5 } == 5)
        await #expect(throws: Failure.self) { try await UncancellableTask.run { _ in throw Failure() } }
    }
}
