import Coordination
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct KeyedSemaphoreTests {
    private let gate = KeyedSemaphore()

    @Test func turnsAreTakenOneAfterTheOtherInOrder() async throws {
        try await self.gate.enter("a")
        let order = Shared<[Int]>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask {
                    try await self.gate.enter("a")
                    order.update { $0.append(number) }
                    self.gate.leave("a")
                }
                await until { self.gate.waitingCount(in: "a") == number + 1 }
            }
            self.gate.leave("a")
            try await group.waitForAll()
        }
        #expect(order.value == Array(0..<50))
        #expect(!self.gate.isBusy(in: "a"))
    }

    @Test func aCanceledWaiterEndsAndTheNextOneHasItsTurn() async throws {
        try await self.gate.enter("a")
        let canceled = Task { try await self.gate.enter("a") }
        await until { self.gate.waitingCount(in: "a") == 1 }
        let patient = Task { try await self.gate.enter("a") }
        await until { self.gate.waitingCount(in: "a") == 2 }

        await #expect(throws: CancellationError.self) { try await canceled.stop() }
        #expect(self.gate.waitingCount(in: "a") == 1)
        self.gate.leave("a")
        try await patient.value
        self.gate.leave("a")
        #expect(!self.gate.isBusy(in: "a"))
    }

    @Test func aTaskThatIsCanceledAlreadyDoesNotTakeTheTurn() async throws {
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await self.gate.enter("a")
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(!self.gate.isBusy(in: "a"))
    }

    @Test func cancellingInTheMomentOfBeingAdmittedLosesNobody() async throws {
        for _ in 0..<100 {
            try await self.gate.enter("a")
            let waiter = Task {
                try await self.gate.enter("a")
                self.gate.leave("a")
            }
            await until { self.gate.waitingCount(in: "a") == 1 }
            async let leaving: Void = self.gate.leave("a")
            waiter.cancel()
            await leaving
            _ = await waiter.result
            #expect(!self.gate.isBusy(in: "a"))
        }
    }

    @Test func linesDoNotWaitForEachOther() async throws {
        try await self.gate.enter("a")
        try await self.gate.enter("b")
        self.gate.leave("a")
        #expect(!self.gate.isBusy(in: "a"))
        #expect(self.gate.isBusy(in: "b"))
    }
}
