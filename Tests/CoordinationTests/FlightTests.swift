import Coordination
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct FlightTests {
    @Test func aLandedFlightTakesNobodyAboard() async throws {
        let flight = Flight<Int>()
        let seat = try #require(flight.board())
        flight.start { 1 }
        #expect(try await flight.value(for: seat) == 1)
        #expect(flight.board() == nil)
        #expect(!flight.keep())
    }

    @Test func aSeatTakenBeforeTheLandingGetsTheResultAfterIt() async throws {
        let flight = Flight<Int>()
        let first = try #require(flight.board())
        let late = try #require(flight.board())
        flight.start { 1 }
        #expect(try await flight.value(for: first) == 1)
        #expect(flight.board() == nil)
        #expect(try await flight.value(for: late) == 1)
    }

    @Test func anAbandonedFlightTakesNobodyAboard() async throws {
        let flight = Flight<Int>()
        let seat = try #require(flight.board())
        let isCanceled = Shared(false)
        flight.start {
            await waitForCancellation()
            isCanceled.value = true
            return 1
        }
        let waiter = Task { try await flight.value(for: seat) }
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        #expect(flight.board() == nil)
        await until { isCanceled.value }
    }

    @Test func aFlightThatIsKeptOutlivesItsWaiters() async throws {
        let flight = Flight<Int>()
        #expect(flight.keep())
        let seat = try #require(flight.board())
        let isOver = Shared(false)
        let (door, opener) = AsyncStream.makeStream(of: Void.self)
        flight.start {
            for await _ in door { break }
            isOver.value = !Task.isCancelled
            return 1
        }
        let waiter = Task { try await flight.value(for: seat) }
        await until { flight.waiterCount == 2 }
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        #expect(flight.waiterCount == 1)
        let another = try #require(flight.board())
        opener.yield()
        #expect(try await flight.value(for: another) == 1)
        #expect(isOver.value)
    }

    @Test func cancelingAFlightEndsEveryWait() async throws {
        let flight = Flight<Int>()
        let seats = try (0..<3).map { _ in try #require(flight.board()) }
        flight.start {
            await waitForCancellation()
            return 1
        }
        let waiters = seats.map { seat in Task { try await flight.value(for: seat) } }
        flight.cancel()
        for waiter in waiters { await #expect(throws: CancellationError.self) { try await waiter.value } }
    }

    @Test func workThatWasAbandonedBeforeItsStartDoesNotStart() async throws {
        let flight = Flight<Int>()
        let seat = try #require(flight.board())
        flight.cancel()
        flight.start {
            Issue.record("nobody is aboard")
            return 1
        }
        await #expect(throws: CancellationError.self) { try await flight.value(for: seat) }
    }

    // MARK: Priority

    /// Work that tells its priority when it is let go on.
    private func startPriorityFlight() -> (
        SingleFlight<TaskPriority>, @Sendable () async throws -> TaskPriority, () -> Void
    ) {
        let (door, opener) = AsyncStream.makeStream(of: Void.self)
        let work: @Sendable () async throws -> TaskPriority = {
            for await _ in door { break }
            return Task.currentPriority
        }
        return (SingleFlight(), work, { opener.yield() })
    }

    @Test func anUrgentCallerHastensWorkThatAnIdleOneBegan() async throws {
        let (flight, work, open) = self.startPriorityFlight()
        let idle = Task(priority: .background) { try await flight.run(work) }
        await until { flight.waiterCount == 1 }
        let urgent = Task(priority: .high) { try await flight.run(work) }
        await until { flight.waiterCount == 2 }
        open()
        #expect(try await urgent.value >= .high)
        _ = try await idle.value
    }

    @Test func aCallerThatBecomesUrgentHastensTheWork() async throws {
        let (flight, work, open) = self.startPriorityFlight()
        let caller = Task(priority: .background) { try await flight.run(work) }
        await until { flight.waiterCount == 1 }
        caller.escalatePriority(to: .high)
        open()
        #expect(try await caller.value >= .high)
    }

    @Test func workRunsAtThePriorityOfTheOneWhoStartsIt() async throws {
        let flight = SingleFlight<TaskPriority>()
        let urgent = Task(priority: .high) { try await flight.run { Task.currentPriority } }
        #expect(try await urgent.value >= .high)
    }
}
