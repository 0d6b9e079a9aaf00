import Synchronization
import Testing

@testable import PowerAuth

@Suite(.timeLimit(.minutes(4)))
struct SigningQueueTests {
    private let queue = SigningQueue()

    /// Starts a task that enters and then does `work`; returns when it waits.
    private func waiter(_ position: Int, _ work: @escaping @Sendable () -> Void) async -> Task<Void, any Error> {
        let queue = self.queue
        let task = Task {
            try await queue.enter("a")
            work()
            queue.leave("a")
        }
        while !Task.isCancelled, queue.waiterCount(of: "a") < position { await Task.yield() }
        return task
    }

    @Test func turnsComeInOrderOfArrival() async throws {
        let served = Served()
        try await self.queue.enter("a")
        var tasks: [Task<Void, any Error>] = []
        for index in 1...10 { tasks.append(await self.waiter(index) { served.append(index) }) }
        self.queue.leave("a")
        for task in tasks { try await task.value }
        #expect(served.all == Array(1...10))
    }

    @Test func whoIsCancelledLeavesTheQueueAndItsOrderStands() async throws {
        let served = Served()
        try await self.queue.enter("a")
        var tasks: [Task<Void, any Error>] = []
        for index in 1...6 { tasks.append(await self.waiter(index) { served.append(index) }) }
        for index in [0, 2, 5] {
            tasks[index].cancel()
            await #expect(throws: CancellationError.self) { try await tasks[index].value }
        }
        self.queue.leave("a")
        for index in [1, 3, 4] { try await tasks[index].value }
        #expect(served.all == [2, 4, 5])
        #expect(self.queue.waiterCount(of: "a") == 0)
    }

    @Test func aTaskThatWasCancelledBeforeNeverEnters() async throws {
        let queue = self.queue
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            try await queue.enter("a")
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await self.queue.enter("a")
    }

    @Test func cancellationAtAnyMomentLosesNoTurn() async throws {
        for round in 0..<200 {
            try await self.queue.enter("a")
            let queue = self.queue
            let task = Task {
                try await queue.enter("a")
                queue.leave("a")
            }
            for _ in 0..<(round % 5) { await Task.yield() }
            async let left: Void = queue.leave("a")
            task.cancel()
            await left
            _ = await task.result
        }
        try await self.queue.enter("a")
    }
}

private final class Served: Sendable {
    private let order = Mutex<[Int]>([])

    var all: [Int] { self.order.withLock { $0 } }

    func append(_ index: Int) { self.order.withLock { $0.append(index) } }
}
