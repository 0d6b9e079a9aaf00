import ExactJSON
import Foundation
import HTTPClientTransport
import MobileTokenTesting
import Testing

@testable import MobileTokenEmulator

extension Emulator {
    /// Waits until the only device has looked what there is to decide: it does one thing after the other.
    func settleDevice() async throws {
        let device = try #require(await self.devices().first)
        await #expect(throws: EmulatorError.self) { try await self.decide("none", .reject, byDevice: device.id) }
    }
}

@Suite(.timeLimit(.minutes(5))) struct SpaceOriginTests {
    static let scenario = """
        {
          "clock": {"mode": "manual", "now": "2026-03-01T08:00:00Z"},
          "templates": [\(ServedTemplateTests.template())],
          "callbacks": [{"name": "bank", "type": "OPERATION", "callbackUrl": "http://127.0.0.1:1/", "maxAttempts": 9}],
          "registrations": [{"userId": "alice"}],
          "devices": [{"userId": "bob", "rule": {"decision": "never"}}],
          "operations": [{"userId": "alice", "template": "order", "parameters": {"what": "tea"}, "expiresIn": 60}],
          "messages": [{"userId": "alice", "subject": "S", "summary": "S", "body": "B"}],
          "faults": [{"name": "twice", "match": {"path": "/v2/operations", "first": 2}, "effect": {"status": 503}}]
        }
        """

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
            let scenario = try JSONValue(parsing: Self.scenario)
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
            try await original.play(scenario: Data(Self.scenario.utf8))
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

    /// A device goes back with its counter: it is neither ahead of its server nor behind.
    @Test(arguments: ProtocolVersion.allCases)
    func devicesGoBackWithTheirCounters(version: ProtocolVersion) async throws {
        try await withEmulator { emulator in
            let device = try await emulator.makeDevice(userID: "alice", version: version.rawValue, rule: .init(.never))
            let first = try await emulator.cloud.createOperation("login", userID: "alice").id
            try await emulator.decide(first, .approve, byDevice: device.id)
            let copy = try await emulator.makeSpace(from: .copy(of: emulator))
            for _ in 0..<2 {
                let second = try await copy.cloud.createOperation("login", userID: "alice").id
                try await copy.decide(second, .approve, byDevice: device.id)
                #expect(await copy.journal().compactMap { $0.code?.stepsBehind } == [])
                try await copy.reset()
                #expect(try await copy.device(device.id).tasks.map(\.state) == [.done])
                await #expect(throws: CloudError.self) { try await copy.cloud.operation(second) }
            }
            // A server whose counter went ahead is followed.
            try await copy.advanceCounter(ofActivation: device.id, by: 3)
            let third = try await copy.cloud.createOperation("login", userID: "alice").id
            #expect(try await copy.decide(third, .approve, byDevice: device.id).tasks.last?.state == .done)
        }
    }

    /// A request that a device sent before reaches nothing of after.
    @Test func requestsOfDevicesOfBeforeReachNothing() async throws {
        try await withEmulator { emulator in
            let caller = DeviceCaller(name: "phone", epoch: emulator.core.devices.epoch)
            let transport = emulator.core.deviceSite(of: caller).transport
            try await emulator.reset()
            await #expect(throws: HTTPTransportError(.connectionLost, detail: "the connection broke")) {
                try await transport.send(HTTPRequest(url: DeviceTransport.baseURL + "/pa/v3/status"))
            }
            #expect(await emulator.journal() == [])
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
            let text = String(repeating: "x", count: 900_000)
            for _ in 0..<5 {
                _ = try await emulator.cloud.createMessage(
                    .init(userID: "alice", subject: "a", summary: "b", body: text)
                )
            }
            let state = try JSONValue(parsing: Array(try await emulator.exported()))
            let space = try await self.space(emulator, from: ["state": state])
            #expect(await space.messages().count == 5)
            let message: JSONValue = ["userId": "alice", "subject": "a", "summary": "b", "body": .string(text)]
            let scenario: JSONValue = ["from": ["scenario": ["messages": .array(Array(repeating: message, count: 5))]]]
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
