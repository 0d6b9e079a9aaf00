import MobileToken
import MobileTokenTesting
import PowerAuth
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(1))) struct ServerGateTests {
    private let clock = ManualClock()

    private func gate(_ requestsPerSecond: Double = 100, atOnce: Int = 1) -> ServerGate {
        ServerGate(
            ServerLimits(requestsPerSecond: requestsPerSecond, concurrentRequests: atOnce),
            clock: self.clock,
            random: { 0 }
        )
    }

    /// Something that is not a request may hold it up, such as a database.
    @Test func aPermitLastsNoLongerThanToldAndThenServesAnother() async throws {
        let gate = self.gate()
        let first = try await gate.enter(for: .seconds(20))
        let second = Task { try await gate.enter(for: .seconds(20)) }
        #expect(await self.clock.nextSleep() == .seconds(20))
        self.clock.advance(by: .seconds(20))
        let permit = try await second.value
        // The first one's place is not given back twice.
        gate.leave(first, .answered)
        let third = Task { try await gate.enter(for: .seconds(20)) }
        #expect(await self.clock.nextSleep() == .seconds(20))
        gate.leave(permit, .answered)
        _ = try await third.value
    }

    /// A server that lets requests run into their time-out is not well.
    @Test func whatEndsAfterItsPermitStillTellsOfTheServer() async throws {
        let gate = self.gate()
        for _ in 0..<GuestRules.failureLimit {
            let permit = try await gate.enter(for: .seconds(20))
            let next = Task { try await gate.enter(for: .seconds(20)) }
            #expect(await self.clock.nextSleep() == .seconds(20))
            self.clock.advance(by: .seconds(20))
            let other = try await next.value
            #expect(gate.heldBackFor == nil)
            gate.leave(permit, .failed(retryAfter: nil))
            gate.leave(permit, .failed(retryAfter: nil))
            gate.leave(other, .unused)
        }
        #expect(gate.heldBackFor != nil)
    }

    /// The store may take longer than the second in which the permit was given.
    @Test func aRequestCountsInTheSecondInWhichItIsSent() async throws {
        let gate = self.gate(1, atOnce: 8)
        let slow = try await gate.enter(for: .seconds(20))
        let next = Task { try await gate.enter(for: .seconds(20)) }
        for _ in 0..<3 {
            #expect(await self.clock.nextSleep() == .seconds(1))
            self.clock.advance(by: .seconds(1))
        }
        #expect(await self.clock.nextSleep() == .seconds(1))
        self.clock.advance(by: .milliseconds(500))
        gate.begin(slow)
        self.clock.advance(by: .milliseconds(500))
        #expect(await self.clock.nextSleep() == .milliseconds(500))
        self.clock.advance(by: .milliseconds(500))
        _ = try await next.value
    }

    @Test func aPermitThatIsNotUsedServesAnotherAtOnce() async throws {
        let gate = self.gate(1)
        gate.leave(try await gate.enter(for: .seconds(20)), .unused)
        let permit = try await gate.enter(for: .seconds(20))
        gate.leave(permit, .unused)
        gate.leave(permit, .unused)
        gate.leave(try await gate.enter(for: .seconds(20)), .answered)
        let late = Task { try await gate.enter(for: .seconds(20)) }
        #expect(await self.clock.nextSleep() == .seconds(1))
        late.cancel()
        _ = await late.result
    }
}
