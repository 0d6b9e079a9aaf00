import APIDescriptions
import EmulatorMessages
import ExactJSON
import Foundation
import HTTPClientTransport
import MobileTokenTesting
import PowerAuthProtocol
import Testing

@testable import MobileTokenEmulator

extension Emulator {
    /// Waits until the only device has looked what there is to decide: it does one thing after the other.
    func settleDevice() async throws {
        let device = try #require(await self.devices().first)
        try await self.decide("none", .reject, byDevice: device.id)
    }
}

/// All that a server or a space holds, kept and put back.
@Suite(.timeLimit(.minutes(2))) struct SnapshotTests {
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

    @Test func whatIsThereIsPutBack() async throws {
        try await withEmulator { emulator in
            try await emulator.play(scenario: Data(Self.scenario.utf8))
            try await emulator.settleDevice()
            _ = try await emulator.send("GET", "/v2/operations", headers: [emulator.authorization])
            let response = try await emulator.send("POST", "/_emulator/snapshots", body: #"{"name":"before"}"#)
            #expect(response.status == 200)
            let made = try #require(await emulator.snapshots().first)
            #expect(try JSONValue(parsing: Array(response.body)) == made.json)
            #expect(made.id == 1 && made.name == "before")
            #expect(await emulator.clock.now == made.created)
            #expect(made.activations == 2 && made.operations == 1 && made.messages == 1)
            #expect(made.devices == 1 && made.faults == 1 && made.deliveries == 1)
            let (state, rules) = (try await emulator.exported(), await emulator.faults.rules)
            let (devices, time) = (await emulator.devices(), await emulator.clock.now)

            await emulator.faults.removeAll()
            await emulator.clock.advance(by: .seconds(90))
            try await emulator.removeDevice(try #require(devices.first?.id))
            try await emulator.removeTemplate("order")
            try await emulator.cloud.createOperation("login", userID: "carol")
            try await emulator.reset()
            #expect(await emulator.activations() == [])

            let events = emulator.events()
            #expect(try await emulator.send("POST", "/_emulator/snapshots/1/restore").status == 200)
            for await event in events {
                #expect(event.kind == .reset)
                break
            }
            #expect(try await emulator.exported() == state)
            #expect(await emulator.devices() == devices)
            #expect(await emulator.clock.now == time)
            #expect(await emulator.clock.isManual)
            #expect(await emulator.faults.rules == rules)
            #expect(emulator.deliveries().count == 1)
            #expect(await emulator.operations().map(\.status) == [.pending])
            #expect(await emulator.templates().contains { $0.name == "order" })
            #expect(await emulator.journal().contains { $0.path == "/_emulator/snapshots/1/restore" })
            // The rule has struck once.
            for status in [503, 200] {
                let list = try await emulator.send("GET", "/v2/operations", headers: [emulator.authorization])
                #expect(list.status == status)
            }
            // It can be put back again, and begins to count where it was.
            try await emulator.restore(made.id)
            #expect(try await emulator.send("GET", "/v2/operations", headers: [emulator.authorization]).status == 503)
        }
    }

    /// A device is put back with its counter: it is neither ahead of its server nor behind.
    @Test(arguments: ProtocolVersion.allCases)
    func devicesArePutBackWithTheirCounters(version: ProtocolVersion) async throws {
        try await withEmulator { emulator in
            let device = try await emulator.makeDevice(
                userID: "alice",
                version: version.rawValue,
                rule: .init(.never)
            )
            let first = try await emulator.cloud.createOperation("login", userID: "alice").id
            try await emulator.decide(first, .approve, byDevice: device.id)
            let snapshot = try await emulator.snapshot()
            let second = try await emulator.cloud.createOperation("login", userID: "alice").id
            for _ in 0..<2 {
                try await emulator.decide(second, .approve, byDevice: device.id)
                try await emulator.restore(snapshot.id)
                #expect(try await emulator.device(device.id).tasks.map(\.state) == [.done])
                await #expect(throws: CloudError.self) { try await emulator.cloud.operation(second) }
            }
            #expect(await emulator.journal().compactMap { $0.code?.stepsBehind } == [])
            // A server whose counter went ahead is followed.
            try await emulator.advanceCounter(ofActivation: device.id, by: 3)
            let third = try await emulator.cloud.createOperation("login", userID: "alice").id
            #expect(try await emulator.decide(third, .approve, byDevice: device.id).tasks.last?.state == .done)
            try await emulator.restore(snapshot.id)
            let fourth = try await emulator.cloud.createOperation("login", userID: "alice").id
            #expect(try await emulator.decide(fourth, .approve, byDevice: device.id).tasks.last?.state == .done)
        }
    }

    /// A request that a device sent before reaches nothing of after.
    @Test func requestsOfDevicesOfBeforeReachNothing() async throws {
        try await withEmulator { emulator in
            let snapshot = try await emulator.snapshot()
            let caller = DeviceCaller(name: "phone", epoch: emulator.core.devices.epoch)
            let transport = emulator.core.deviceSite(of: caller).transport
            try await emulator.restore(snapshot.id)
            await #expect(throws: HTTPTransportError(.connectionLost, detail: "the connection broke")) {
                try await transport.send(HTTPRequest(url: DeviceTransport.baseURL + "/pa/v3/status"))
            }
            #expect(await emulator.journal().map(\.path) == ["/_emulator/snapshots/1/restore"])
        }
    }

    @Test func theirNumberIsBounded() async throws {
        var configuration = Emulator.Configuration()
        configuration.capacity.snapshots = 1
        try await withEmulator(configuration) { emulator in
            let snapshot = try await emulator.snapshot()
            let refused = try await emulator.send("POST", "/_emulator/snapshots")
            #expect(refused.status == 507)
            #expect(refused.text.contains("There is no room for more snapshots (1)"))
            #expect(try await emulator.send("DELETE", "/_emulator/snapshots/\(snapshot.id)").status == 200)
            #expect(try await emulator.snapshot().id == 2)
        }
    }

    private static let wrongRequests: [(String, String, String?, Int, String)] = [
        ("POST", "", "[]", 400, "The body is not an object"), ("POST", "", #"{"nam":"a"}"#, 400, "did you mean 'name'"),
        ("POST", "", #"{"name":""}"#, 400, "'name'"), ("GET", "?limit=0", nil, 400, "limit"),
        ("POST", "", #"{"name":"\#(String(repeating: "x", count: 256))"}"#, 400, "'name' must have 1 to 255 bytes"),
        ("POST", "/2/restore", nil, 404, "There is no such snapshot"),
        ("POST", "/x/restore", nil, 404, "There is no such snapshot"),
        ("DELETE", "/2", nil, 404, "There is no such snapshot"), ("GET", "/1", nil, 405, "Allowed here"),
    ]

    @Test(arguments: Self.wrongRequests)
    func aWrongRequestIsRefusedByName(
        method: String,
        path: String,
        body: String?,
        status: Int,
        message: String
    ) async throws {
        try await withEmulator { emulator in
            try await emulator.snapshot()
            let refused = try await emulator.send(method, "/_emulator/snapshots" + path, body: body)
            #expect(refused.status == status)
            #expect(refused.text.contains(message), "\(refused.text)")
            #expect(await emulator.snapshots().map(\.id) == [1])
        }
    }

    @Test func aSpaceHasSnapshotsOfItsOwn() async throws {
        try await withEmulator { emulator in
            let space = try await emulator.makeSpace()
            try await space.cloud.register(userID: "alice")
            let path = "/spaces/\(try #require(space.spaceID))/_emulator/snapshots"
            #expect(try await emulator.send("POST", path).status == 200)
            #expect(await emulator.snapshots() == [])
            let state = try await space.exported()
            try await space.cloud.register(userID: "carol")
            #expect(try await emulator.send("POST", path + "/1/restore").status == 200)
            #expect(try await space.exported() == state)
        }
    }

    @Test func aRestoredStateIsInTheDataFile() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = Emulator.Configuration()
        configuration.dataFile = folder.appending(path: "state.sqlite").path
        let activations = try await withEmulator(configuration) { emulator in
            try await emulator.cloud.register(userID: "alice")
            let snapshot = try await emulator.snapshot()
            let activations = await emulator.activations()
            try await emulator.cloud.register(userID: "bob")
            try await emulator.restore(snapshot.id)
            return activations
        }
        try await withEmulator(configuration) { emulator in
            #expect(await emulator.activations() == activations && activations.count == 1)
            try await emulator.reset()
            #expect(await emulator.activations() == [])
        }
    }
}
