import ExactJSON
import Testing
import WireFacts

@testable import EmulatorBackend
@testable import MobileTokenEmulator

@Suite struct InboxTests {
    private func message(_ number: Int, to user: String = "alice", _ fixture: inout BackendFixture) throws -> String {
        fixture.advance(seconds: 1)
        let reply = fixture.cloud(
            "POST",
            "/v2/inbox/messages",
            [
                "userId": .string(user), "subject": "Message #\(number)", "summary": "Summary \(number)",
                "body": "Body \(number)", "type": "text", "silent": true,
            ]
        )
        #expect(reply.json["timestamp"]?.int64 == fixture.milliseconds)
        #expect(reply.json["read"] == false)
        return try #require(reply.json["id"]?.string)
    }

    @Test func messagesAreCountedListedReadAndMarked() throws {
        var (fixture, device) = try BackendFixture.withToken()
        let identifiers = try (1...5).map { try self.message($0, &fixture) }
        _ = try self.message(6, to: "bob", &fixture)
        func unread() -> Int64? { device.sendWithToken("/api/inbox/count", in: &fixture).object["countUnread"]?.int64 }
        func list(_ request: JSONValue) -> [String] {
            let path = "/api/inbox/message/list"
            let reply = device.sendWithToken(path, ["requestObject": request], in: &fixture)
            return reply.object.array?.compactMap { $0["id"]?.string } ?? []
        }
        #expect(unread() == 5)
        #expect(list(["page": 0, "size": 2, "onlyUnread": false]) == [identifiers[4], identifiers[3]])
        #expect(list(["page": 2, "size": 2, "onlyUnread": false]) == [identifiers[0]])
        #expect(list(["page": 3, "size": 2, "onlyUnread": false]).isEmpty)
        let one: JSONValue = ["requestObject": ["id": .string(identifiers[2])]]
        let detail = device.sendWithToken("/api/inbox/message/detail", one, in: &fixture).object
        #expect(detail["body"]?.string == "Body 3")
        #expect(detail["read"] == false)
        #expect(detail["timestampCreated"]?.string == "2027-01-15T08:00:03+0000")
        #expect(device.sendWithToken("/api/inbox/message/read", one, in: &fixture).outcome == "200 OK")
        #expect(device.sendWithToken("/api/inbox/message/detail", one, in: &fixture).object["read"] == true)
        #expect(unread() == 4)
        #expect(list(["page": 0, "size": 100, "onlyUnread": true]).count == 4)
        #expect(device.sendWithToken("/api/inbox/message/read-all", in: &fixture).outcome == "200 OK")
        #expect(unread() == 0)
        #expect(list(["page": 0, "size": 100, "onlyUnread": false]).count == 5)
    }

    @Test func messagesThatMakeNoSenseAreNotMade() throws {
        var fixture = try BackendFixture()
        let good: JSONObject = ["userId": "alice", "subject": "S", "summary": "S", "body": "B", "type": "html"]
        for (member, value) in [("userId", nil), ("subject", nil), ("type", "smoke"), ("silent", "yes")]
            as [(String, JSONValue?)]
        {
            var request = good
            request[member] = value
            #expect(fixture.cloud("POST", "/v2/inbox/messages", .object(request)).outcome == "400 ERROR_REQUEST")
        }
        #expect(fixture.cloud("POST", "/v2/inbox/messages", .object(good)).json["type"]?.string == "html")
    }

    /// "inbox count: of another application" and "inbox detail: of another application".
    @Test func aMessageIsOfOneApplication() throws {
        var (fixture, device) = try BackendFixture.with { try $0.deviceWithToken(user: "alice") }
        #expect(fixture.cloud("POST", "/admin/applications", ["id": "second"]).status == 200)
        let message: JSONValue = ["userId": "alice", "appId": "second", "subject": "S", "summary": "S", "body": "B"]
        let id = fixture.cloud("POST", "/v2/inbox/messages", message).json["id"] ?? .null
        #expect(device.sendWithToken("/api/inbox/count", in: &fixture).object["countUnread"] == 0)
        let detail: JSONValue = ["requestObject": ["id": id]]
        #expect(device.sendWithToken("/api/inbox/message/detail", detail, in: &fixture).outcome == "400 INBOX_FAILED")
    }

    @Test(.wireFact("B24")) func aListTellsItsPageAndWithoutASizeItIsAFifthOfAHundred() throws {
        var (fixture, device) = try BackendFixture.withToken()
        for number in 1...25 { _ = try self.message(number, &fixture) }
        let path = "/api/inbox/message/list"
        let cases: [(JSONValue, page: JSONValue, size: JSONValue, count: Int)] = [
            (["page": 1, "size": 10], 1, 10, 10), (["size": 100], 0, 100, 25), ([:], 0, 0, 20), (["page": 1], 1, 0, 5),
        ]
        for (request, page, size, count) in cases {
            let reply = device.sendWithToken(path, ["requestObject": request], in: &fixture)
            #expect(reply.json["page"] == page && reply.json["size"] == size)
            #expect(reply.object.array?.count == count)
        }
    }

    @Test(.wireFact("B16")) func othersMessagesAndWrongPagesAreRefused() throws {
        var (fixture, device) = try BackendFixture.with { try $0.deviceWithToken(user: "alice") }
        let foreign = try self.message(1, to: "bob", &fixture)
        for path in ["/api/inbox/message/detail", "/api/inbox/message/read"] {
            for request: JSONValue in [["id": .string(foreign)], ["id": "nothing"], ["id": ""], ["id": 1], [:]] {
                let reply = device.sendWithToken(path, ["requestObject": request], in: &fixture)
                #expect(reply.outcome == "400 INBOX_FAILED")
            }
        }
        // "inbox list size -1", "… page -1", "… size text", "… onlyUnread 1", "… page 2147483647", "… size list" of `mobile.jsonl`.
        for (request, outcome) in [
            (["page": -1, "size": -1], "200 OK"), (["page": "0", "size": 2_147_483_647], "200 OK"),
            (["page": .null, "size": "", "onlyUnread": 1], "200 OK"),
            (["page": 2_147_483_647, "size": 10], "400 INBOX_FAILED"), (["size": [2]], "500 ERROR_GENERIC"),
            (["onlyUnread": "x"], "500 ERROR_GENERIC"), (["page": 9_223_372_036_854_775_807], "500 ERROR_GENERIC"),
        ] as [(JSONValue, String)] {
            let path = "/api/inbox/message/list"
            #expect(device.sendWithToken(path, ["requestObject": request], in: &fixture).outcome == outcome)
        }
    }
}

@Suite struct PushTests {
    /// Another platform than the first one is taken and not kept: the token alone is.
    @Test(
        .wireFact("B3"),
        arguments: [(.v2_2, "apns", "fcm"), (.v2_2, "fcm", "hms"), (.v2_2, "hms", "fcm"), (.v1_9, "ios", "android")]
            as [(EmulatorServerProfile.Release, String, String)]
    )
    func aDeviceIsRegistered(release: EmulatorServerProfile.Release, platform: String, other: String) throws {
        var fixture = try BackendFixture { $0.profile = .init(release) }
        var device = try fixture.deviceWithToken()
        let request: JSONValue = ["requestObject": ["platform": .string(platform), "token": "t1"]]
        #expect(device.sendWithToken("/api/push/device/register/token", request, in: &fixture).outcome == "200 OK")
        #expect(fixture.backend.state.devices[device.activationID]?.platform == platform)
        let newer: JSONValue = ["requestObject": ["platform": .string(other), "token": "t2"]]
        #expect(device.sendWithToken("/api/push/device/register", newer, in: &fixture).outcome == "200 OK")
        #expect(fixture.backend.state.devices[device.activationID]?.token == "t2")
        #expect(fixture.backend.state.devices[device.activationID]?.platform == platform)
        #expect(fixture.send("/api/push/device/register/signature", json: newer).outcome == "404 ERROR_NOT_FOUND")
        let path = "/api/push/device/register"
        let code = try device.sendSigned(path, uriID: "/push/device/register", .possession, newer, in: &fixture)
        #expect(code.outcome == "401 ERR_AUTHENTICATION")
    }

    @Test func aRegisteredDeviceIsShownUntilItsActivationGoes() throws {
        var (fixture, device) = try BackendFixture.withToken()
        let path = "/v2/registrations/\(device.activationID)"
        #expect(fixture.cloud("GET", path).json["push"] == nil)
        let request: JSONValue = ["platform": "apns", "token": "t1", "environment": "development"]
        let reply = device.sendWithToken("/api/push/device/register/token", ["requestObject": request], in: &fixture)
        #expect(reply.outcome == "200 OK")
        let expected: JSONValue = [
            "platform": "apns", "token": "t1", "environment": "development",
            "timestampRegistered": .number(JSONNumber(fixture.milliseconds)),
        ]
        #expect(fixture.cloud("GET", path).json["push"] == expected)
        #expect(fixture.backend.activations.first?.pushPlatform == "apns")
        #expect(fixture.backend.activations.first?.pushToken == "t1")
        #expect(fixture.cloud("DELETE", path).status == 200)
        #expect(fixture.cloud("GET", path).json["push"] == nil)
        #expect(fixture.backend.activations.first?.pushToken == nil)
    }

    @Test func badRegistrationsAreRefusedByName() throws {
        var (fixture, device) = try BackendFixture.withToken()
        let cases: [(JSONValue, String)] = [
            (["platform": "telegraph", "token": "t"], "500 ERROR_GENERIC"),
            (["platform": 9, "token": "t"], "500 ERROR_GENERIC"),
            (["platform": "apns"], "400 INVALID_REQUEST"), (["token": "t"], "400 INVALID_REQUEST"),
            (["platform": "apns", "token": " "], "400 INVALID_REQUEST"), (.null, "400 INVALID_REQUEST"),
            (["platform": "apns", "token": "t", "environment": "sandbox"], "500 ERROR_GENERIC"),
            (
                ["platform": "apns", "token": .string(String(repeating: "t", count: 256))],
                "400 PUSH_REGISTRATION_FAILED"
            ),
        ]
        for (request, outcome) in cases {
            let path = "/api/push/device/register/token"
            #expect(device.sendWithToken(path, ["requestObject": request], in: &fixture).outcome == outcome)
        }
        #expect(fixture.send("/api/push/device/register/token", json: [:]).outcome == "401 ERR_AUTHENTICATION")
        #expect(fixture.backend.state.devices.isEmpty)
    }
}
