import Coordination
import Synchronization
import TestSupport
import Testing

/// The one way to wait: a waiter is resumed once, by the one who takes it or by the cancellation.
@Suite(.timeLimit(.minutes(5))) struct WaiterTests {
    private struct State {
        var isOpen = false
        var waiters: [Waiter<Int>] = []
        var enteredCount = 0
    }

    private final class Room: Sendable {
        private let state = Mutex(State())

        var waitingCount: Int { self.state.withLock { $0.waiters.count } }
        var enteredCount: Int { self.state.withLock { $0.enteredCount } }

        func wait(entered: () -> Void = {}) async throws -> Int {
            try await self.state.wait { state, waiter in
                state.enteredCount += 1
                if state.isOpen { return .success(0) }
                state.waiters.append(waiter)
                return nil
            } entered: {
                entered()
            } leave: { state, id in
                state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
            }
        }

        func open() { self.state.withLock { $0.isOpen = true } }

        func takeFirst() -> Waiter<Int>? {
            self.state.withLock { $0.waiters.isEmpty ? nil : $0.waiters.removeFirst() }
        }
    }

    private struct Failure: Error {}

    private let room = Room()

    @Test func aWaiterGetsWhatItIsResumedWith() async throws {
        let tasks = (0..<2).map { _ in Task { try await self.room.wait() } }
        await until { self.room.waitingCount == 2 }
        self.room.takeFirst()?.resume(with: .success(7))
        self.room.takeFirst()?.resume(with: .failure(Failure()))
        var results: [Result<Int, any Error>] = []
        for task in tasks { results.append(await task.result) }
        #expect(results.compactMap { try? $0.get() } == [7])
        #expect(results.count { (try? $0.get()) == nil } == 1)
    }

    @Test func whatIsThereAlreadyIsNotWaitedFor() async throws {
        self.room.open()
        #expect(try await self.room.wait() == 0)
        #expect(self.room.waitingCount == 0)
    }

    @Test func aCanceledWaiterIsTakenOut() async throws {
        let task = Task { try await self.room.wait() }
        await until { self.room.waitingCount == 1 }
        await #expect(throws: CancellationError.self) { try await task.stop() }
        #expect(self.room.waitingCount == 0)
    }

    @Test func aTaskThatIsCanceledAlreadyDoesNotEnter() async throws {
        self.room.open()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await self.room.wait()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(self.room.enteredCount == 0)
    }

    @Test func whatFollowsTheEntranceFindsTheLockFree() async throws {
        let value = try await self.room.wait { self.room.takeFirst()?.resume(with: .success(5)) }
        #expect(value == 5)
    }

    /// Were a waiter resumed twice, the process would end; were it lost, so would the test's time.
    @Test func cancellingInTheMomentOfBeingResumedResumesOnce() async throws {
        for _ in 0..<200 {
            let task = Task { try await self.room.wait() }
            async let taking: Void = { self.room.takeFirst()?.resume(with: .success(1)) }()
            task.cancel()
            await taking
            _ = await task.result
            #expect(self.room.waitingCount == 0)
        }
    }
}
