import Coordination
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct DrainTests {
    @Test func aWaitEndsWithTheLastPieceOfWork() async throws {
        let drain = Drain()
        try await drain.wait()
        for _ in 0..<2 { #expect(drain.begin()) }
        let hasEnded = Shared(false)
        let waiters = (0..<3).map { _ in
            Task {
                try await drain.wait()
                #expect(drain.count == 0 && hasEnded.value)
            }
        }
        drain.end()
        hasEnded.value = true
        drain.end()
        for waiter in waiters { try await waiter.value }
    }

    @Test func nothingBeginsOnceItIsClosed() async throws {
        let drain = Drain()
        drain.begin()
        drain.close()
        #expect(drain.begin() == false)
        #expect(drain.count == 1)
        drain.end()
        try await drain.wait()
    }

    @Test func aCanceledWaitEndsAtOnce() async throws {
        let drain = Drain()
        drain.begin()
        let waiter = Task { try await drain.wait() }
        await #expect(throws: CancellationError.self) { try await waiter.stop() }
        #expect(drain.count == 1)
    }
}
