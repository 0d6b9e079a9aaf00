import Coordination
import TestSupport
import Testing

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
        await #expect(throws: CancellationError.self) { try await caller.stop() }
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
        await #expect(throws: CancellationError.self) { try await task.stop() }
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
        await #expect(throws: CancellationError.self) { try await task.stop() }
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
