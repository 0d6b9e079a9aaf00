import Basics
import EmulatorMessages
import MobileTokenTesting
import Testing

@testable import MobileTokenEmulator

/// Delays that are drawn anew for each request.
@Suite(.timeLimit(.minutes(5))) struct JitterTests {
    private static func delays(_ effect: FaultRule.Effect) -> [Double] {
        var random = SeededRandomness(seed: 7)
        return (0..<20_000).map { _ in effect.drawDelay(using: &random) }.sorted()
    }

    @Test func aJitterIsAddedAndAsLikelyEverywhere() {
        let delays = Self.delays(.init(delay: 1, jitter: 2))
        for (index, delay) in [(0, 1.0), (5_000, 1.5), (10_000, 2), (15_000, 2.5), (19_999, 3)] {
            #expect((delay - 0.02...delay + 0.02).contains(delays[index]))
        }
        #expect(delays.allSatisfy { (1...3).contains($0) })
    }

    @Test(arguments: [-1, Double.infinity, -Double.infinity, .nan])
    func whatSwiftLetsThroughDoesNotTrap(jitter: Double) {
        var random = SeededRandomness(seed: 7)
        _ = Duration(boundedSeconds: FaultRule.Effect(jitter: jitter).drawDelay(using: &random))
    }

    @Test func theSeedFixesTheDelaysAndTheClockWaitsForThem() async throws {
        var delays: [Duration] = []
        for _ in 1...2 {
            var configuration = Emulator.Configuration()
            configuration.seed = 7
            let clock = ManualClock()
            let core = try EmulatorCore(configuration: configuration, clock: clock)
            await core.setFaults([FaultRule(effect: .init(delay: 0.1, jitter: 30))])
            for _ in 1...2 {
                async let response = core.respond(to: ReceivedRequest(method: "POST", path: "/pa/v3/status"))
                let delay = try #require(await clock.nextSleep())
                #expect(delay >= .milliseconds(100) && delay < .seconds(31))
                delays.append(delay)
                clock.advance(by: delay)
                #expect(await response.status == 200)
            }
        }
        #expect(delays[0] == delays[2] && delays[1] == delays[3] && delays[0] != delays[1])
    }
}
