import APIDescriptions
import Basics
import EmulatorBackend
import EmulatorMessages
import ExactJSON
import Foundation
import MobileTokenTesting
import Testing

@testable import MobileTokenEmulator

/// Requests are delayed as a network would delay them.
@Suite(.timeLimit(.minutes(1))) struct LatencyTests {
    /// Delays in the order of their length.
    private static func delays(_ latency: FaultRule.Latency) -> [Double] {
        var random = Randomness(seed: 7)
        return (0..<20_000).map { _ in latency.seconds(using: &random) }.sorted()
    }

    @Test(arguments: [
        (FaultRule.Latency.profile(.lan), 0.001, 0.005), (.profile(.wifi), 0.002, 0.05), (.profile(.fourG), 0.17, 0.7),
        (.profile(.threeG), 0.3, 1.5), (.profile(.satellite), 0.6, 1.5),
        (.logNormal(median: 2, p99: 9), 2, 9), (.logNormal(median: 1, p99: 1), 1, 1),
    ])
    func halfStayBelowTheMedianAndAllButOneOfAHundredBelowP99(latency: FaultRule.Latency, median: Double, p99: Double) {
        let delays = Self.delays(latency)
        let (half, most) = (delays[10_000], delays[19_800])
        #expect((0.97 * median...1.03 * median).contains(half), "\(half)")  // the seed is fixed
        #expect((0.9 * p99...1.1 * p99).contains(most), "\(most)")
        #expect(delays.allSatisfy { $0 > 0 })
    }

    @Test func anEvenLatencyIsAsLikelyEverywhere() {
        let delays = Self.delays(.uniform(from: 1, to: 3))
        for (index, delay) in [(0, 1.0), (5_000, 1.5), (10_000, 2), (15_000, 2.5), (19_999, 3)] {
            #expect((delay - 0.02...delay + 0.02).contains(delays[index]))
        }
        #expect(delays.allSatisfy { (1...3).contains($0) })
    }

    @Test func noneIsLongerThanTheMaximum() {
        let delays = Self.delays(.logNormal(median: 1, p99: 2, maximum: 2))
        #expect(delays.last == 2 && delays.count { $0 == 2 } > 100)
    }

    @Test(arguments: [(0, 0), (0.5, 0), (0.999_999, 0.5), (0, 0.999)])
    func whatSwiftLetsThroughDoesNotTrap(first: Double, second: Double) {
        for latency in [
            FaultRule.Latency.uniform(from: 3, to: -1), .logNormal(median: 0, p99: 0), .logNormal(median: -1, p99: 1),
            .uniform(from: -.infinity, to: .nan),
        ] { _ = Duration(boundedSeconds: latency.seconds(first, second)) }
    }

    private static let right = [
        #"{"profile":"4g"}"#, #"{"distribution":"uniform","from":0.1,"to":0.3}"#,
        #"{"distribution":"lognormal","median":0.2,"p99":1.5,"maximum":10}"#,
    ]

    @Test(arguments: Self.right)
    func aLatencyIsWrittenAsItWasRead(document: String) throws {
        let latency = try FaultRule.Latency(json: JSONValue(parsing: document))
        #expect(String(decoding: latency.json.serialized(), as: UTF8.self) == document)
        let data = try JSONEncoder().encode(latency)
        #expect(try JSONDecoder().decode(FaultRule.Latency.self, from: data) == latency)
    }

    @Test(arguments: [
        ("{}", "The body has neither a 'profile' nor a 'distribution'"),
        (#"{"profile":"5g"}"#, "'profile' is none of lan, wifi, 4g, 3g, satellite"),
        (#"{"profile":"4g","distribution":"uniform"}"#, "'distribution' is given beside 'profile'"),
        (#"{"profile":"4g","median":1}"#, "'median' is no number of a profile"),
        (#"{"distribution":"uniform","from":1}"#, "'to' is missing"),
        (#"{"distribution":"uniform","from":2,"to":1}"#, "'to' is less than 'from'"),
        (#"{"distribution":"uniform","from":0,"to":0}"#, "'to' is 0"),
        (#"{"distribution":"uniform","from":0,"to":1,"p99":1}"#, "'p99' is no number of uniform"),
        (#"{"distribution":"lognormal","median":1}"#, "'p99' is missing"),
        (#"{"distribution":"lognormal","median":0,"p99":1}"#, "'median' is 0"),
        (#"{"distribution":"lognormal","median":2,"p99":1}"#, "'p99' is less than 'median'"),
        (#"{"distribution":"lognormal","median":1,"p99":2,"maximum":1}"#, "'maximum' is less than 'p99'"),
        (#"{"distribution":"lognormal","median":1,"p99":3601}"#, "'p99' is not 0.0 to 3600.0"),
        (#"{"distribution":"normal","median":1}"#, "'distribution' is none of uniform, lognormal"),
    ])
    func aLatencyThatCannotBeDrawnIsRefusedByName(document: String, message: String) throws {
        let value = try JSONValue(parsing: document)
        let mistake = #expect(throws: Schema.Objection.self) { try FaultRule.Latency(json: value) }
        #expect(mistake?.message == message)
    }

    @Test func theSeedFixesTheDelaysAndTheClockWaitsForThem() async throws {
        var delays: [Duration] = []
        for _ in 1...2 {
            var configuration = Emulator.Configuration()
            configuration.seed = 7
            let clock = ManualClock()
            let core = try EmulatorCore(configuration: configuration, clock: clock)
            await core.setFaults([FaultRule(effect: .init(latency: .profile(.satellite)))])
            for _ in 1...2 {
                async let response = core.respond(to: ReceivedRequest(method: "POST", path: "/pa/v3/status"))
                let delay = try #require(await clock.nextSleep())
                #expect(delay > .milliseconds(100) && delay < .seconds(30))
                delays.append(delay)
                clock.advance(by: delay)
                #expect(await response.status == 200)
            }
        }
        #expect(delays[0] == delays[2] && delays[1] == delays[3] && delays[0] != delays[1])
    }
}
