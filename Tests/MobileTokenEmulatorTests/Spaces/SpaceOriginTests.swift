import ExactJSON
import Foundation
import MobileTokenTesting
import Testing

@testable import MobileTokenEmulator

/// The state that a space begins with.
@Suite(.timeLimit(.minutes(2))) struct SpaceOriginTests {
    /// Makes a space over HTTP.
    private func space(_ emulator: Emulator, from origin: JSONValue) async throws -> Emulator {
        let body = String(decoding: JSONValue.object(["from": origin]).serialized(), as: UTF8.self)
        let response = try await emulator.send("POST", "/_emulator/spaces", body: body)
        try #require(response.status == 200, "\(response.text)")
        let id = try #require(try JSONValue(parsing: Array(response.body))["id"]?.string)
        return try #require(emulator.space(id))
    }

    @Test func aScenarioIsPlayedAndAResetGoesBackToIt() async throws {
        try await withEmulator { emulator in
            let scenario = try JSONValue(parsing: SnapshotTests.scenario)
            let space = try await self.space(emulator, from: ["scenario": scenario])
            let (time, devices) = (await space.clock.now, await space.devices())
            let (activations, operations) = (await space.activations().map(\.id), await space.operations())
            #expect(await space.activations().map(\.userID) == ["bob", "alice"] && devices.count == 1)
            #expect(time.formatted(.iso8601) == "2026-03-01T08:00:00Z")
            await space.clock.resume()
            await space.faults.removeAll()
            try await space.removeDevice(try #require(devices.first?.id))
            try await space.cloud.register(userID: "carol")
            try await space.reset()
            #expect(await space.activations().map(\.id) == activations)
            #expect(await space.operations() == operations)
            #expect(await space.clock.now == time)
            #expect(await space.devices() == devices)
            #expect(await space.faults.rules.map(\.name) == ["twice"])
            // Deliveries and decisions of virtual devices, which go on by themselves, begin anew.
            #expect(await space.journal().allSatisfy { $0.deliveryID != nil || $0.deviceName != nil })
            #expect(await emulator.activations() == [])
        }
    }

    @Test func aStateBringsItsKeys() async throws {
        try await withEmulator { emulator in
            try await emulator.cloud.register(userID: "alice")
            let state = try await emulator.exported()
            let space = try await self.space(emulator, from: ["state": try JSONValue(parsing: Array(state))])
            #expect(space.sdkConfiguration == emulator.sdkConfiguration)
            #expect(try await space.exported() == state)
            let other = try await emulator.makeSpace(from: .state(state))
            try await other.cloud.register(userID: "bob")
            try await other.reset()
            #expect(try await other.exported() == state && other.sdkConfiguration == emulator.sdkConfiguration)
        }
    }

    /// A copy is a server of its own, with all that the other one has: devices, time, faults and their counts.
    @Test(arguments: [true, false]) func aCopyHasAllThatTheOtherHas(isOfServer: Bool) async throws {
        try await withEmulator { emulator in
            let original = isOfServer ? emulator : try await emulator.makeSpace()
            try await original.play(scenario: Data(SnapshotTests.scenario.utf8))
            try await original.settleDevice()
            let origin = JSONValue.string(original.spaceID ?? "server")
            let copy = try await self.space(emulator, from: ["space": origin])
            #expect(try await copy.exported() == original.exported())
            #expect(await copy.clock.now == original.clock.now)
            #expect(await copy.devices() == original.devices())
            #expect(await copy.templates() == original.templates())
            #expect(copy.deliveries().map(\.body) == original.deliveries().map(\.body))
            #expect(await copy.journal().allSatisfy { $0.deliveryID != nil })
            let device = try #require(await copy.devices().first)
            for server in [copy, original] {
                await server.faults.removeAll()
                let operation = try await server.cloud.createOperation("login", userID: "bob").id
                try await server.decide(operation, .approve, byDevice: device.id)
                #expect(await server.operations().first?.status == .approved)
                #expect(await server.operations().count == 2)
            }
        }
    }

    private static let wrong: [(String, Int, String)] = [
        (#"{"from":{}}"#, 400, "'from' needs one of scenario, state and space, and no other"),
        (#"{"from":{"scenario":{},"space":"server"}}"#, 400, "'from' needs one of scenario, state and space"),
        (#"{"from":{"spce":"server"}}"#, 400, "'from.spce' is not known here; did you mean 'space'?"),
        (#"{"from":"server"}"#, 400, "'from' is not an object"), (#"{"from":{"space":"none"}}"#, 404, "no such space"),
        (#"{"from":{"space":""}}"#, 400, "'from.space' is empty"), (#"{"from":{"state":{}}}"#, 400, "'from.state."),
        (#"{"from":{"state":{"format":"x","version":1,"state":{}}}}"#, 400, "Not a document of this server"),
        (#"{"seed":1,"from":{"space":"server"}}"#, 400, "'seed' is for a space that begins empty or from a scenario"),
        (#"{"from":{"scenario":{"operatons":[]}}}"#, 400, "'from.scenario.operatons' is not known here"),
        (
            #"{"from":{"scenario":{"registrations":[{"userId":"a"}],"operations":[{"userId":"a","template":"lgin"}]}}}"#,
            400, "'from.scenario.operations[0]': 'template' names no template: there is no 'lgin'"
        ),
        (
            #"{"from":{"scenario":{"devices":[{"activationCode":"AAAAA-AAAAA-AAAAA-AAAAA"}]}}}"#,
            409, "'from.scenario.devices[0]"
        ),
    ]

    @Test(arguments: Self.wrong)
    func whatCannotBeMadeLeavesNoSpace(body: String, status: Int, message: String) async throws {
        try await withEmulator { emulator in
            let refused = try await emulator.send("POST", "/_emulator/spaces", body: body)
            #expect(refused.status == status)
            #expect(refused.text.contains(message), "\(refused.text)")
            #expect(emulator.spaces() == [])
        }
    }

    /// A state may be as long as one that is imported; nothing else may.
    @Test func onlyAStateMayBeLong() async throws {
        try await withEmulator { emulator in
            let text = String(repeating: "x", count: 600_000)
            for _ in 0..<2 {
                _ = try await emulator.cloud.createMessage(
                    .init(userID: "alice", subject: "a", summary: "b", body: text)
                )
            }
            let state = try JSONValue(parsing: Array(try await emulator.exported()))
            let space = try await self.space(emulator, from: ["state": state])
            #expect(await space.messages().count == 2)
            let message: JSONValue = ["userId": "alice", "subject": "a", "summary": "b", "body": .string(text)]
            let scenario: JSONValue = ["from": ["scenario": ["messages": [message, message]]]]
            let body = String(decoding: scenario.serialized(), as: UTF8.self)
            let refused = try await emulator.send("POST", "/_emulator/spaces", body: body)
            #expect(refused.status == 413 && emulator.spaces().count == 1)
        }
    }

    @Test func copiesAreOfTheSameServer() async throws {
        try await withEmulator { emulator in
            try await withEmulator { other in
                await #expect(throws: EmulatorError.self) { try await emulator.makeSpace(from: .copy(of: other)) }
                let removed = try await emulator.makeSpace()
                await removed.stop()
                await #expect(throws: EmulatorError.self) { try await emulator.makeSpace(from: .copy(of: removed)) }
                #expect(emulator.spaces() == [])
            }
        }
    }
}
