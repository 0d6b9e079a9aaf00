import Coordination
import ExactJSON
import MobileTokenTesting
import TestSupport
import Testing

@testable import MobileTokenEmulator

/// A test waits for what becomes of an operation, and does not ask again and again.
@Suite(.timeLimit(.minutes(5))) struct OperationWaitTests {
    @Test(arguments: ["?wait=60", "?wait=60&until=final", "?wait=60&until=changed"])
    func theDecisionEndsTheWait(query: String) async throws {
        try await withEmulator { emulator in
            let id = try await emulator.cloud.createOperation("login", userID: "alice").id
            async let answer = emulator.ask("/operations/" + id + query)
            while emulator.core.events.subscriberCount < 1 { await Task.yield() }
            // Another operation is none of its business.
            let other = try await emulator.cloud.createOperation("login", userID: "alice").id
            try await emulator.cloud.cancelOperation(other)
            #expect(emulator.core.events.subscriberCount == 1)
            try await emulator.cloud.cancelOperation(id)
            #expect(try await answer.body["status"] == "CANCELED")
            while emulator.core.events.subscriberCount > 0 { await Task.yield() }
        }
    }

    @Test func expirationEndsTheWait() async throws {
        try await withEmulator { emulator in
            await emulator.clock.freeze()
            let id = try await emulator.cloud.createOperation("login", userID: "alice").id
            async let operation = emulator.operation(id, until: .final, within: .seconds(60))
            while emulator.core.events.subscriberCount < 1 { await Task.yield() }
            await emulator.clock.advance(by: .seconds(86_400))
            #expect(try await operation.status == .expired)
        }
    }

    @Test func whatIsDecidedAlreadyIsToldAtOnce() async throws {
        try await withEmulator { emulator in
            let id = try await emulator.cloud.createOperation("login", userID: "alice").id
            #expect(try await emulator.ask("/operations/" + id).body["status"] == "PENDING")
            #expect(try await emulator.ask("/operations/" + id + "?wait=0").body["status"] == "PENDING")
            try await emulator.cloud.cancelOperation(id)
            #expect(try await emulator.ask("/operations/" + id + "?wait=60").body["status"] == "CANCELED")
        }
    }

    @Test(arguments: [Emulator.OperationSummary.Milestone.final, .changed])
    func theWaitEndsByTheClockThatTheServerIsGiven(milestone: Emulator.OperationSummary.Milestone) async throws {
        var configuration = Emulator.Configuration()
        configuration.cloudPassword = "secret"
        let clock = ManualClock()
        let core = try EmulatorCore(configuration: configuration, clock: clock)
        let cloud = core.cloud
        let id = try await cloud.createOperation("login", userID: "alice").id
        // A final operation does not change any more.
        if milestone == .changed { try await cloud.cancelOperation(id) }
        async let operation = core.operation(id, until: milestone, within: .seconds(5))
        #expect(await clock.nextSleep() == .seconds(5))
        clock.advance(by: .seconds(5))
        #expect(try await operation.status == (milestone == .final ? .pending : .canceled))
        #expect(core.events.subscriberCount == 0)
    }

    @Test func anOperationThatThereIsNotIsNotWaitedFor() async throws {
        try await withEmulator { emulator in
            #expect(try await emulator.ask("/operations/none?wait=60").status == 404)
            let id = try await emulator.cloud.createOperation("login", userID: "alice").id
            async let answer = emulator.ask("/operations/" + id + "?wait=60")
            while emulator.core.events.subscriberCount < 1 { await Task.yield() }
            try await emulator.reset()
            #expect(try await answer.status == 404)
            let error = await #expect(throws: EmulatorError.self) {
                try await emulator.operation(id, until: .final, within: .seconds(60))
            }
            #expect(error?.code == .notFound)
        }
    }

    @Test func aWaitGoesOnWithAnotherStateThatHasTheOperation() async throws {
        try await withEmulator { emulator in
            let id = try await emulator.cloud.createOperation("login", userID: "alice").id
            async let answer = emulator.ask("/operations/" + id + "?wait=60")
            while emulator.core.events.subscriberCount < 1 { await Task.yield() }
            try await emulator.importState(try await emulator.exported())
            try await emulator.cloud.cancelOperation(id)
            #expect(try await answer.body["status"] == "CANCELED")
        }
    }

    @Test(arguments: [
        ("wait=61", "'wait' is not 0.0 to 60.0"), ("wait=soon", "'wait' is not a number"),
        ("wait=1&until=decided", "'until' is none of final, changed"), ("until=final", "'until' needs a 'wait'"),
        ("wiat=1", "'wiat' is not known here; did you mean 'wait'?"),
    ])
    func aWrongWaitIsRefusedByItsName(query: String, message: String) async throws {
        try await withEmulator { emulator in
            let refused = try await emulator.ask("/operations/x?" + query)
            #expect(refused.status == 400 && refused.body["responseObject"]?["message"]?.string == message)
        }
    }

    @Test func noMoreWaitThanThereIsRoomFor() async throws {
        try await withEmulator(altered(Emulator.Configuration()) { $0.capacity.eventStreams = 0 }) { emulator in
            let id = try await emulator.cloud.createOperation("login", userID: "alice").id
            #expect(try await emulator.ask("/operations/" + id + "?wait=1").status == 503)
            #expect(try await emulator.ask("/operations/" + id).status == 200)
        }
    }
}
