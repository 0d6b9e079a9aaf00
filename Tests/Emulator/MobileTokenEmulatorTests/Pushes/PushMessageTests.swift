import ExactJSON
import Testing
import WireFacts

@testable import EmulatorBackend
import MobileTokenNotifications

/// The messages that a push server would send, and their addressees; the SDK reads them as it reads a real server's.
@Suite struct PushMessageTests {
    private static func register(_ device: TestDevice, platform: String = "fcm", in fixture: inout BackendFixture) {
        let request: JSONValue = [
            "requestObject": ["platform": .string(platform), "token": "t-\(device.activationID)"]
        ]
        #expect(device.sendWithToken("/api/push/device/register/token", request, in: &fixture).outcome == "200 OK")
    }

    private static func pushes(_ reply: Reply, _ fixture: BackendFixture) -> [PushMessage] {
        reply.events.flatMap { fixture.backend.announcement(of: $0).pushes }
    }

    @Test(.wireFact("B32")) func anOperationIsPushedToTheDevicesOfItsUser() throws {
        var fixture = try BackendFixture()
        var devices = [try fixture.deviceWithToken(), try fixture.deviceWithToken()]
        let other = try fixture.deviceWithToken(user: "bob")
        for device in devices + [other] { Self.register(device, in: &fixture) }
        let created = fixture.cloud("POST", "/v2/operations", ["template": "payment", "userId": "alice"])
        let id = try #require(created.json["operationId"]?.string)
        let pushes = Self.pushes(created, fixture)
        #expect(pushes.map(\.activationID) == devices.map(\.activationID).sorted())
        #expect(pushes.allSatisfy { $0.kind == .operationInit && $0.platform == "fcm" })
        #expect(pushes.allSatisfy { $0.token == "t-\($0.activationID)" })
        #expect(pushes.allSatisfy { $0.payload["activationId"]?.string == $0.activationID })
        let read = try #require(PushPayload(parsing: pushes[0].payload.serialized()))
        guard case .operationCreated(id, "authorize_payment", let content?) = read else {
            Issue.record("\(read)")
            return
        }
        #expect(!content.title.isEmpty && !content.message.isEmpty)

        // A failed attempt is no news; the decision is.
        let data = try #require(created.json["data"]?.string)
        let wrong = try devices[0].authorize((id, data + "x"), in: &fixture)
        #expect(wrong.status == 401 && Self.pushes(wrong, fixture).isEmpty)
        let approved = try devices[0].authorize((id, data), in: &fixture)
        let finished = Self.pushes(approved, fixture)
        #expect(finished.count == 2)
        #expect(finished.allSatisfy { $0.payload["activationId"]?.string == $0.activationID })
        let result = finished.first.flatMap { PushPayload(parsing: $0.payload.serialized()) }
        #expect(result == .operationFinished(id: id, name: "authorize_payment", result: .success))
    }

    @Test func howAnOperationEndsIsTold() throws {
        var (fixture, device) = try BackendFixture.withToken()
        Self.register(device, in: &fixture)
        let canceled = try fixture.operation()
        let reply = fixture.cloud("DELETE", "/v2/operations/\(canceled.id)")
        #expect(Self.pushes(reply, fixture).first?.payload["mtokenOperationResult"] == "operation.canceled")
        _ = try fixture.operation()
        fixture.advance(seconds: 1000)
        let expired = fixture.backend.settle(at: fixture.now).flatMap { fixture.backend.announcement(of: $0).pushes }
        #expect(expired.map { $0.payload["mtokenOperationResult"] } == ["operation.timeout"])
    }

    @Test func operationsForNobodyAndDevicesThatMayNotSeeThemGetNothing() throws {
        var (fixture, device) = try BackendFixture.with { try $0.deviceWithToken(flags: ["OTHER"]) }
        Self.register(device, in: &fixture)
        let requests: [JSONValue] = [
            ["template": "login_preApproval"], ["template": "login", "userId": "alice", "activationFlag": "VIP"],
        ]
        for request in requests {
            let reply = fixture.cloud("POST", "/v2/operations", request)
            #expect(reply.status == 200 && Self.pushes(reply, fixture).isEmpty)
        }
        _ = fixture.cloud("PUT", "/v2/registrations/\(device.activationID)", ["change": "BLOCK"])
        let blocked = fixture.cloud("POST", "/v2/operations", ["template": "login", "userId": "alice"])
        #expect(Self.pushes(blocked, fixture).isEmpty)
    }

    @Test func aMessageIsPushedUnlessItIsSilent() throws {
        var (fixture, device) = try BackendFixture.withToken()
        Self.register(device, platform: "apns", in: &fixture)
        let message: JSONObject = ["userId": "alice", "subject": "S", "summary": "T", "body": "B"]
        let loud = fixture.cloud("POST", "/v2/inbox/messages", .object(message))
        let pushes = Self.pushes(loud, fixture)
        #expect(pushes.map(\.platform) == ["apns"])
        let id = try #require(loud.json["id"]?.string)
        #expect(PushPayload(parsing: try #require(pushes.first).payload.serialized()) == .inboxMessageReceived(id: id))
        var silent = message
        silent["silent"] = true
        #expect(Self.pushes(fixture.cloud("POST", "/v2/inbox/messages", .object(silent)), fixture).isEmpty)
        // Reading it is no news.
        let read = device.sendWithToken("/api/inbox/message/read", ["requestObject": ["id": .string(id)]], in: &fixture)
        #expect(read.status == 200 && Self.pushes(read, fixture).isEmpty)
    }

    @Test func aDeviceIsToldOfItsStatusAlsoOfItsEnd() throws {
        var (fixture, device) = try BackendFixture.withToken()
        Self.register(device, in: &fixture)
        let path = "/v2/registrations/\(device.activationID)"
        for (method, body) in [("PUT", ["change": "BLOCK"]), ("DELETE", nil)] as [(String, JSONValue?)] {
            let pushes = Self.pushes(fixture.cloud(method, path, body), fixture)
            #expect(pushes.map(\.kind) == [.statusChange])
            let payload = pushes.first.flatMap { PushPayload(parsing: $0.payload.serialized()) }
            #expect(payload == .activationStatusChanged(activationID: device.activationID))
        }
        #expect(fixture.backend.state.devices.isEmpty)
    }
}
