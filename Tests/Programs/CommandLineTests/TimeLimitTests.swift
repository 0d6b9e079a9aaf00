import CommandLineSupport
import MobileToken
import MobileTokenTesting
import Testing

/// A list is several requests at times: together they have the time of one.
@Suite(.timeLimit(.minutes(2))) struct TimeLimitTests {
    @Test func severalRequestsHaveTheTimeOfOne() async throws {
        try await withEmulator { emulator in
            let clock = ManualClock()
            let client = try emulator.makeClient { $0.clock = clock }
            let endless = AsyncStream<Never>.makeStream()
            let call = Task { try await client.within(.seconds(20)) { for await _ in endless.stream {} } }
            await clock.waitForSleepers(1)
            #expect(clock.timeToNextDeadline == .seconds(20))
            clock.advance(by: .seconds(20))
            await #expect { try await call.value } throws: { ($0 as? MobileTokenError)?.code == .timeout }
        }
    }
}
