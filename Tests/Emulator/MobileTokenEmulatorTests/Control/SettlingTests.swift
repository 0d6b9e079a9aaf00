import Coordination
import ExactJSON
import Foundation
import MobileTokenTesting
import Testing

@testable import MobileTokenEmulator

/// A test waits until all that its step has set off is over.
@Suite(.timeLimit(.minutes(5))) struct SettlingTests {
    private static let nowhere = "http://127.0.0.1:1/"

    @Test func devicesHaveDecidedAndTheBankHasBeenTold() async throws {
        try await withEmulator { emulator in
            try await emulator.makeDevice(userID: "alice")
            try await emulator.settle(within: .seconds(60))
            try await emulator.cloud.createCallback(.init(name: "bank", subject: .operations, url: Self.nowhere))
            let id = try await emulator.cloud.createOperation("login", userID: "alice").id
            #expect(try await emulator.settle(within: .seconds(60)) == [])
            #expect(try await emulator.cloud.operation(id).status == .approved)
            #expect(emulator.deliveries().map(\.state) == [.failed, .failed])
        }
    }

    @Test func whatWaitsForTheClockIsNotWaitedFor() async throws {
        try await withEmulator { emulator in
            let now = Date(timeIntervalSince1970: 1_772_352_000)
            await emulator.clock.freeze(at: now)
            let device = try await emulator.makeDevice(userID: "alice", rule: .init(.approve, after: 3))
            try await emulator.cloud.createCallback(
                .init(name: "bank", subject: .operations, url: Self.nowhere, maximumAttempts: 2)
            )
            let id = try await emulator.cloud.createOperation("login", userID: "alice").id
            let later = try await emulator.ask("/settle", method: "POST", body: #"{"within": 60}"#).body["later"]?.array
            #expect(later?.compactMap { $0["kind"]?.string } == ["device", "delivery"])
            #expect(later?.compactMap { $0["id"]?.string } == [device.id, "1"])
            #expect(later?.compactMap { $0["subject"]?.string } == [id, Self.nowhere])
            #expect(try await emulator.settle().map(\.due) == [now.addingTimeInterval(3), now.addingTimeInterval(2)])
            await emulator.clock.advance(by: .seconds(60))
            try await emulator.settle(within: .seconds(60))
            #expect(try await emulator.cloud.operation(id).status == .approved)
            await emulator.clock.advance(by: .seconds(60))
            #expect(try await emulator.settle(within: .seconds(60)) == [])
        }
    }

    @Test func whatStillGoesOnIsNamed() async throws {
        try await withEmulator { emulator in
            await emulator.faults.add(FaultRule(match: .init(path: Self.nowhere), effect: .init(delay: 3600)))
            try await emulator.cloud.createCallback(.init(name: "bank", subject: .operations, url: Self.nowhere))
            try await emulator.cloud.createOperation("login", userID: "alice")
            let refused = try await emulator.ask("/settle", method: "POST", body: #"{"within": 0}"#)
            #expect(refused.status == 409 && refused.body["responseObject"]?["code"] == "NOT_SETTLED")
            let message = "This still goes on: delivery 1 goes to \(Self.nowhere)"
            #expect(refused.body["responseObject"]?["message"]?.string == message)
            // A delivery that a reset forgets goes on no more.
            async let settled = emulator.ask("/settle", method: "POST")
            while emulator.core.events.subscriberCount < 1 { await Task.yield() }
            try await emulator.reset()
            #expect(try await settled.status == 200)
        }
    }

    @Test func theWaitEndsByTheClockThatTheServerIsGiven() async throws {
        let clock = ManualClock()
        let core = try EmulatorCore(configuration: Emulator.Configuration(), clock: clock)
        let message = CallbackMessage(url: "x", body: [])
        // Nobody carries them.
        for _ in 1...12 { core.callbackQueue.change { _ = $0.add(message, at: 0) } }
        async let settled = core.waitUntilIdle(within: .seconds(5))
        #expect(await clock.nextSleep() == .seconds(5))
        clock.advance(by: .seconds(5))
        do {
            _ = try await settled
            Issue.record("Twelve deliveries are due")
        } catch let error as EmulatorError {
            #expect(error.code == .notSettled && error.message.hasSuffix("delivery 10 goes to x and 2 more"))
        }
    }

    @Test(arguments: [
        (#"{"within": 61}"#, "'within' is not 0.0 to 60.0"),
        (#"{"withn": 1}"#, "'withn' is not known here; did you mean 'within'?"),
    ])
    func aWrongWaitIsRefusedByItsName(body: String, message: String) async throws {
        try await withEmulator { emulator in
            let refused = try await emulator.ask("/settle", method: "POST", body: body)
            #expect(refused.status == 400 && refused.body["responseObject"]?["message"]?.string == message)
        }
    }
}
