import MobileToken
import MobileTokenTesting
import PowerAuth
import Testing

@Suite(.timeLimit(.minutes(5))) struct ServerLimiterTests {
    private let clock = ManualClock()

    private func limiter(_ requestsPerSecond: Double = 100, atOnce: Int = 1) -> ServerLimiter {
        ServerLimiter(
            OperationsFleet.ServerLimits(requestsPerSecond: requestsPerSecond, concurrentRequests: atOnce),
            clock: self.clock,
            random: { 0 }
        )
    }

    /// Something that is not a request may hold it up, such as a database.
    @Test func aPermitLastsNoLongerThanToldAndThenServesAnother() async throws {
        let limiter = self.limiter()
        let first = try await limiter.enter(for: .seconds(20))
        let second = Task { try await limiter.enter(for: .seconds(20)) }
        #expect(await self.clock.nextSleep() == .seconds(20))
        self.clock.advance(by: .seconds(20))
        let permit = try await second.value
        // The first one's place is not given back twice.
        limiter.leave(first, .answered)
        let third = Task { try await limiter.enter(for: .seconds(20)) }
        #expect(await self.clock.nextSleep() == .seconds(20))
        limiter.leave(permit, .answered)
        _ = try await third.value
    }

    /// A server that lets requests run into their time-out is not well.
    @Test func whatEndsAfterItsPermitStillTellsOfTheServer() async throws {
        let limiter = self.limiter()
        for _ in 0..<GuestRules.failureLimit {
            let permit = try await limiter.enter(for: .seconds(20))
            let next = Task { try await limiter.enter(for: .seconds(20)) }
            #expect(await self.clock.nextSleep() == .seconds(20))
            self.clock.advance(by: .seconds(20))
            let other = try await next.value
            #expect(limiter.heldBackFor == nil)
            limiter.leave(permit, .failed(retryAfter: nil))
            limiter.leave(permit, .failed(retryAfter: nil))
            limiter.leave(other, .unused)
        }
        #expect(limiter.heldBackFor != nil)
    }

    /// The store may take longer than the second in which the permit was given.
    @Test func aRequestCountsInTheSecondInWhichItIsSent() async throws {
        let limiter = self.limiter(1, atOnce: 8)
        let slow = try await limiter.enter(for: .seconds(20))
        let next = Task { try await limiter.enter(for: .seconds(20)) }
        for _ in 0..<3 {
            #expect(await self.clock.nextSleep() == .seconds(1))
            self.clock.advance(by: .seconds(1))
        }
        #expect(await self.clock.nextSleep() == .seconds(1))
        self.clock.advance(by: .milliseconds(500))
        limiter.begin(slow)
        self.clock.advance(by: .milliseconds(500))
        #expect(await self.clock.nextSleep() == .milliseconds(500))
        self.clock.advance(by: .milliseconds(500))
        _ = try await next.value
    }

    @Test func aPermitThatIsNotUsedServesAnotherAtOnce() async throws {
        let limiter = self.limiter(1)
        limiter.leave(try await limiter.enter(for: .seconds(20)), .unused)
        let permit = try await limiter.enter(for: .seconds(20))
        limiter.leave(permit, .unused)
        limiter.leave(permit, .unused)
        limiter.leave(try await limiter.enter(for: .seconds(20)), .answered)
        let late = Task { try await limiter.enter(for: .seconds(20)) }
        #expect(await self.clock.nextSleep() == .seconds(1))
        late.cancel()
        _ = await late.result
    }
}
