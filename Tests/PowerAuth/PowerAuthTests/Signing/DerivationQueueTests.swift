import Dispatch
import TestSupport
import Testing

import PowerAuth

/// Keys are derived from passwords beside Swift's threads, a few at a time.
@Suite(.timeLimit(.minutes(5)))
struct DerivationQueueTests {
    /// Stops derivations until they are let go.
    private final class Barrier: Sendable {
        private let semaphore = DispatchSemaphore(value: 0)
        private let isClosed = Shared(false)
        private let entered = Shared(0)

        /// The number of derivations that have begun while it was closed.
        var enteredCount: Int { self.entered.value }

        func close() { self.isClosed.value = true }

        func pass() {
            guard self.isClosed.value else { return }
            self.entered.update { $0 += 1 }
            self.semaphore.wait()
        }

        func open(for count: Int) { for _ in 0..<count { self.semaphore.signal() } }
    }

    private func makeActivation(limit: Int) async throws -> (Activation, Barrier, DerivationQueue) {
        let barrier = Barrier()
        let queue = DerivationQueue(limit: limit) { barrier.pass() }
        let activation = try await Fixture { $0.derivations = queue }.activate()
        barrier.close()
        return (activation, barrier, queue)
    }

    @Test func manyDerivationsLeaveThePoolToOthersAndFewRunAtOnce() async throws {
        let (activation, barrier, queue) = try await self.makeActivation(limit: 2)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<200 { group.addTask { _ = try await activation.unlockKnowledge(password: Fixture.password) } }
            await until { barrier.enteredCount == 2 && queue.waitingCount == 198 }
            // None of these would run if the two held the threads of a machine with two cores.
            for _ in 0..<100 { await Task.detached {}.value }
            #expect(barrier.enteredCount == 2)
            barrier.open(for: 200)
            try await group.waitForAll()
        }
        #expect(barrier.enteredCount == 200)
        #expect(queue.waitingCount == 0)
    }

    @Test func everyDerivationGoesThroughTheQueue() async throws {
        let (activation, barrier, _) = try await self.makeActivation(limit: 1)
        let old = Fixture.twoFactors
        barrier.open(for: 3)
        try await activation.validate(old)
        #expect(barrier.enteredCount == 1)
        try await activation.changePassword(from: .init(utf8: Fixture.password), to: .init(utf8: "another one"))
        #expect(barrier.enteredCount == 3)
    }

    @Test func whoWaitsForItsTurnCanBeCanceled() async throws {
        let (activation, barrier, queue) = try await self.makeActivation(limit: 1)
        let first = Task { try await activation.unlockKnowledge(password: Fixture.password) }
        await until { barrier.enteredCount == 1 }
        let second = Task { try await activation.unlockKnowledge(password: Fixture.password) }
        await until { queue.waitingCount == 1 }
        await #expect(throws: CancellationError.self) { try await second.stop() }
        #expect(queue.waitingCount == 0)
        barrier.open(for: 1)
        _ = try await first.value
        #expect(barrier.enteredCount == 1)
    }
}
