import MobileToken
import MobileTokenEmulator
import MobileTokenTesting
import Testing

@Suite(.timeLimit(.minutes(1))) struct EmulatorTestKitTests {
    @Test func anActivationIsReadyToSign() async throws {
        try await withEmulator { emulator async throws in
            let activation = try await emulator.makeActivation(user: "alice", password: "1234", name: "bot")
            let known = try #require(await emulator.activations().first)
            #expect(known.id == activation.activationID)
            #expect(known.status == "ACTIVE")
            #expect(known.name == "bot")
            #expect(await emulator.refusals() == [])
        }
    }

    @Test func theJournalIsSearchedAndAwaited() async throws {
        try await withEmulator { emulator async throws in
            async let awaited = emulator.nextRequest(to: "/v2/operations")
            try await emulator.cloud.register(userID: "alice")
            try await emulator.cloud.createOperation("login", userID: "alice")
            #expect(await awaited?.path == "/v2/operations")
            #expect(await emulator.requests(to: "/v2/*").map(\.method) == ["POST", "POST"])
            await #expect(throws: EmulatorError.self) { try await emulator.cloud.createOperation("none", userID: nil) }
            #expect(await emulator.refusals(of: "/v2/operations").count == 1)
        }
    }

    @Test func aFaultLastsAsLongAsItsScope() async throws {
        try await withEmulator { emulator async throws in
            try await emulator.withFault(.unavailable(retryAfter: 5), on: "/v2/**") {
                await #expect(throws: EmulatorError.self) { try await emulator.cloud.register(userID: "alice") }
            }
            #expect(await emulator.faults.rules.isEmpty)
            try await emulator.cloud.register(userID: "alice")
        }
    }

    @Test func theServerStopsWhenTheBodyThrows() async throws {
        struct Failure: Error {}
        var events: Emulator.Events?
        await #expect(throws: Failure.self) {
            try await withEmulator { emulator async throws in
                events = emulator.events()
                throw Failure()
            }
        }
        for await _ in try #require(events) {}  // ends with the server
    }
}
