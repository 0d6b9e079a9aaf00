import Coordination
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct SharedTaskTests {
    @Test func aLandedFlightTakesNobodyAboard() async throws {
        let task = SharedTask<Int>()
        let subscription = try #require(task.join())
        task.start { 1 }
        #expect(try await task.value(for: subscription) == 1)
        #expect(task.join() == nil)
        #expect(!task.detach())
    }

    @Test func aSeatTakenBeforeTheLandingGetsTheResultAfterIt() async throws {
        let task = SharedTask<Int>()
        let first = try #require(task.join())
        let late = try #require(task.join())
        task.start { 1 }
        #expect(try await task.value(for: first) == 1)
        #expect(task.join() == nil)
        #expect(try await task.value(for: late) == 1)
    }

    @Test func anAbandonedFlightTakesNobodyAboard() async throws {
        let task = SharedTask<Int>()
        let subscription = try #require(task.join())
        let isCanceled = Shared(false)
        task.start {
            await waitForCancellation()
            isCanceled.value = true
            return 1
        }
        let waiter = Task { try await task.value(for: subscription) }
        await #expect(throws: CancellationError.self) { try await waiter.stop() }
        #expect(task.join() == nil)
        await until { isCanceled.value }
    }

    @Test func aFlightThatIsKeptOutlivesItsWaiters() async throws {
        let task = SharedTask<Int>()
        #expect(task.detach())
        let subscription = try #require(task.join())
        let isOver = Shared(false)
        let (door, opener) = AsyncStream.makeStream(of: Void.self)
        task.start {
            for await _ in door { break }
            isOver.value = !Task.isCancelled
            return 1
        }
        let waiter = Task { try await task.value(for: subscription) }
        await until { task.waiterCount == 2 }
        await #expect(throws: CancellationError.self) { try await waiter.stop() }
        #expect(task.waiterCount == 1)
        let another = try #require(task.join())
        opener.yield()
        #expect(try await task.value(for: another) == 1)
        #expect(isOver.value)
    }

    @Test func cancelingAFlightEndsEveryWait() async throws {
        let task = SharedTask<Int>()
        let subscriptions = try (0..<3).map { _ in try #require(task.join()) }
        task.start {
            await waitForCancellation()
            return 1
        }
        let waiters = subscriptions.map { subscription in Task { try await task.value(for: subscription) } }
        task.cancel()
        for waiter in waiters { await #expect(throws: CancellationError.self) { try await waiter.value } }
    }

    @Test func workThatWasAbandonedBeforeItsStartDoesNotStart() async throws {
        let task = SharedTask<Int>()
        let subscription = try #require(task.join())
        task.cancel()
        task.start {
            Issue.record("nobody is aboard")
            return 1
        }
        await #expect(throws: CancellationError.self) { try await task.value(for: subscription) }
    }

    // MARK: Priority

    /// Work that tells its priority when it is let go on.
    private func startPriorityFlight() -> (
        Coalescer<TaskPriority>, @Sendable () async throws -> TaskPriority, () -> Void
    ) {
        let (door, opener) = AsyncStream.makeStream(of: Void.self)
        let work: @Sendable () async throws -> TaskPriority = {
            for await _ in door { break }
            return Task.currentPriority
        }
        return (Coalescer(), work, { opener.yield() })
    }

    @Test func anUrgentCallerHastensWorkThatAnIdleOneBegan() async throws {
        let (task, work, open) = self.startPriorityFlight()
        let idle = Task(priority: .background) { try await task.run(work) }
        await until { task.waiterCount == 1 }
        let urgent = Task(priority: .high) { try await task.run(work) }
        await until { task.waiterCount == 2 }
        open()
        #expect(try await urgent.value >= .high)
        _ = try await idle.value
    }

    @Test func aCallerThatBecomesUrgentHastensTheWork() async throws {
        let (task, work, open) = self.startPriorityFlight()
        let caller = Task(priority: .background) { try await task.run(work) }
        await until { task.waiterCount == 1 }
        caller.escalatePriority(to: .high)
        open()
        #expect(try await caller.value >= .high)
    }

    @Test func workRunsAtThePriorityOfTheOneWhoStartsIt() async throws {
        let task = Coalescer<TaskPriority>()
        let urgent = Task(priority: .high) { try await task.run { Task.currentPriority } }
        #expect(try await urgent.value >= .high)
    }
}
