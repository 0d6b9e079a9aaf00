import MobileTokenTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct EmulatorCloudTests {
    @Test func anOperationExpiresForThoseWhoWatch() async throws {
        try await withEmulator { emulator async throws in
            await emulator.clock.freeze()
            let operation = try await emulator.cloud.createOperation("login", userID: "alice").id
            let events = emulator.events()
            await emulator.clock.advance(by: .seconds(3600))
            let expiry = await events.first { $0.kind == .operation }
            #expect(expiry?.id == operation)
            #expect(expiry?.status == "EXPIRED")
        }
    }

    @Test func anActivationIsAdministered() async throws {
        try await withEmulator { emulator async throws in
            let registration = try await emulator.cloud.register(userID: "alice")
            // Nobody has activated yet: there is nothing to block, and no counter.
            for action in ["block", "unblock"] {
                let path = "/_emulator/activations/\(registration.id)/\(action)"
                #expect(try await emulator.send("POST", path).status == 409)
            }
            let removed = try await emulator.send("DELETE", "/_emulator/activations/\(registration.id)")
            #expect(try removed.json(as: [String: Any].self)["status"] as? String == "REMOVED")
            let error = await #expect(throws: EmulatorError.self) {
                try await emulator.removeActivation(registration.id)
            }
            #expect(error?.code == .conflict)
        }
    }

    @Test func aRuleMayStrikeOneActivation() async throws {
        try await withEmulator { emulator async throws in
            let one = try await emulator.cloud.register(userID: "alice").id
            let other = try await emulator.cloud.register(userID: "bob").id
            await emulator.faults.add(FaultRule(match: .init(activation: one), effect: .init(status: 500)))
            await #expect(throws: CloudError.self) { try await emulator.cloud.commitRegistration(one) }
            #expect(await emulator.journal().last?.status == 500)
            await #expect(throws: CloudError.self) { try await emulator.cloud.commitRegistration(other) }
            #expect(await emulator.journal().last?.status == 400)
        }
    }
}
