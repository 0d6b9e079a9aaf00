import Testing

@testable import PowerAuth

@Suite(.timeLimit(.minutes(5))) struct SigningGateTests {
    private let gate = SigningGate()

    @Test func turnsAreTakenOneAfterTheOtherInOrder() async throws {
        try await self.gate.enter()
        let order = Shared<[Int]>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask {
                    try await self.gate.enter()
                    order.update { $0.append(number) }
                    self.gate.leave()
                }
                await until { self.gate.waitingCount == number + 1 }
            }
            self.gate.leave()
            try await group.waitForAll()
        }
        #expect(order.value == Array(0..<50))
        #expect(!self.gate.isBusy)
    }

    @Test func aCancelledWaiterEndsAndTheNextOneHasItsTurn() async throws {
        try await self.gate.enter()
        let cancelled = Task { try await self.gate.enter() }
        await until { self.gate.waitingCount == 1 }
        let patient = Task { try await self.gate.enter() }
        await until { self.gate.waitingCount == 2 }

        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(self.gate.waitingCount == 1)
        self.gate.leave()
        try await patient.value
        self.gate.leave()
        #expect(!self.gate.isBusy)
    }

    @Test func aTaskThatIsCancelledAlreadyDoesNotTakeTheTurn() async throws {
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await self.gate.enter()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(!self.gate.isBusy)
    }

    @Test func cancellingInTheMomentOfBeingAdmittedLosesNobody() async throws {
        for _ in 0..<100 {
            try await self.gate.enter()
            let waiter = Task {
                try await self.gate.enter()
                self.gate.leave()
            }
            await until { self.gate.waitingCount == 1 }
            async let leaving: Void = self.gate.leave()
            waiter.cancel()
            await leaving
            _ = await waiter.result
            #expect(!self.gate.isBusy)
        }
    }
}
