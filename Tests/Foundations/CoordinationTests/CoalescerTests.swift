import Coordination
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct CoalescerTests {
    private let task = Coalescer<Int>()
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
                    return try await self.task.run {
                        try await self.door.pass()
                        return 7
                    }
                }
            }
            await until { joined.value == 100 && self.task.waiterCount == 100 }
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
        let impatient = Task { try await self.task.run(work) }
        let patient = Task { try await self.task.run(work) }
        await until { self.task.waiterCount == 2 }
        await self.untilVisited(1)
        await #expect(throws: CancellationError.self) { try await impatient.stop() }
        self.door.open()
        #expect(try await patient.value == 1)
    }

    @Test func theWorkIsCancelledWithItsLastWaiterAndStartsAnewAfterwards() async throws {
        let wasCancelled = Shared(false)
        let only = Task {
            try await self.task.run {
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
        await #expect(throws: CancellationError.self) { try await only.stop() }
        await until { wasCancelled.value }
        #expect(try await self.task.run { 2 } == 2)
    }

    @Test func aFailureReachesEveryWaiterAndIsNotKept() async throws {
        struct Failure: Error {}
        await #expect(throws: Failure.self) { _ = try await self.task.run { throw Failure() } }
        #expect(try await self.task.run { 3 } == 3)
    }
}
