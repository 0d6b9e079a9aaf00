import Testing
import TestSupport

@testable import PowerAuth

@Suite(.timeLimit(.minutes(5))) struct SigningGateTests {
    private let gate = SigningGate()

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
                await until { self.gate.waitingCount(for: "a") == number + 1 }
            }
            self.gate.leave("a")
            try await group.waitForAll()
        }
        #expect(order.value == Array(0..<50))
        #expect(!self.gate.isBusy(for: "a"))
    }

    @Test func aCanceledWaiterEndsAndTheNextOneHasItsTurn() async throws {
        try await self.gate.enter("a")
        let canceled = Task { try await self.gate.enter("a") }
        await until { self.gate.waitingCount(for: "a") == 1 }
        let patient = Task { try await self.gate.enter("a") }
        await until { self.gate.waitingCount(for: "a") == 2 }

        canceled.cancel()
        await #expect(throws: CancellationError.self) { try await canceled.value }
        #expect(self.gate.waitingCount(for: "a") == 1)
        self.gate.leave("a")
        try await patient.value
        self.gate.leave("a")
        #expect(!self.gate.isBusy(for: "a"))
    }

    @Test func aTaskThatIsCanceledAlreadyDoesNotTakeTheTurn() async throws {
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await self.gate.enter("a")
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(!self.gate.isBusy(for: "a"))
    }

    @Test func cancellingInTheMomentOfBeingAdmittedLosesNobody() async throws {
        for _ in 0..<100 {
            try await self.gate.enter("a")
            let waiter = Task {
                try await self.gate.enter("a")
                self.gate.leave("a")
            }
            await until { self.gate.waitingCount(for: "a") == 1 }
            async let leaving: Void = self.gate.leave("a")
            waiter.cancel()
            await leaving
            _ = await waiter.result
            #expect(!self.gate.isBusy(for: "a"))
        }
    }

    @Test func activationsDoNotWaitForEachOther() async throws {
        try await self.gate.enter("a")
        try await self.gate.enter("b")
        self.gate.leave("a")
        #expect(!self.gate.isBusy(for: "a"))
        #expect(self.gate.isBusy(for: "b"))
    }
}
