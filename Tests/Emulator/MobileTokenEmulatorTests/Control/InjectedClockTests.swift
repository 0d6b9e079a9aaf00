import EmulatorMessages
import HTTPClientTransport
import MobileTokenTesting
import TestSupport
import Testing

@testable import MobileTokenEmulator

/// The server's waits are on the clock it is given.
@Suite(.timeLimit(.minutes(5))) struct InjectedClockTests {
    private static func core(_ clock: ManualClock, _ effect: FaultRule.Effect) async throws -> EmulatorCore {
        let core = try EmulatorCore(configuration: altered(.init()) { $0.cloudPassword = "secret" }, clock: clock)
        await core.setFaults([FaultRule(effect: effect)])
        return core
    }

    private static let request = ReceivedRequest(method: "POST", path: "/pa/v3/status")

    @Test func aDelayedRequestIsAnsweredWhenTheClockSaysSo() async throws {
        let clock = ManualClock()
        let core = try await Self.core(clock, .init(delay: 3600))
        async let response = core.respond(to: Self.request)
        #expect(await clock.nextSleep() == .seconds(3600))
        #expect(await core.journal(since: 0, limit: 1).entries.isEmpty)
        clock.advance(by: .seconds(3600))
        #expect(await response.status == 200)
        #expect(await core.journal(since: 0, limit: 1).entries.count == 1)
    }

    /// A virtual device gives up as other clients do; it would be at its first request for an hour, or for one second a byte.
    @Test(arguments: [FaultRule.Effect(delay: 3600), .init(drip: 1)])
    func aDeviceWaitsNoLongerThanOtherClients(effect: FaultRule.Effect) async throws {
        let clock = ManualClock()
        let core = try await Self.core(clock, effect)
        let transport = core.deviceSite(of: DeviceCaller(name: "phone", epoch: core.devices.epoch)).transport
        let sending = Task { try await transport.send(HTTPRequest(url: DeviceTransport.baseURL + "/pa/v3/status")) }
        await clock.waitForSleepers(2)
        clock.advance(by: .seconds(20))
        await #expect(throws: HTTPTransportError(.timeout, detail: "the response took too long")) {
            try await sending.value
        }
    }

    @Test func whatExpiresIsLookedForOnceASecond() async throws {
        let clock = ManualClock()
        let core = try await Self.core(clock, .init())
        let keeping = Task { await core.keepTime() }
        for _ in 0..<3 {
            #expect(await clock.nextSleep() == .seconds(1))
            clock.advance(by: .seconds(1))
        }
        await keeping.stop()
    }
}
