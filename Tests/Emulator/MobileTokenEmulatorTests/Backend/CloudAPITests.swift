import ExactJSON
import MobileTokenEmulator
import PowerAuthCrypto
import Testing
import WireFacts

@Suite(.wireFact("6.1", "6.2", "B4")) struct CloudAPITests {
    @Test func credentialsAreAskedForFirst() throws {
        var fixture = try BackendFixture()
        let state = try fixture.exportedState()
        let wrong: [[HeaderField]] = [
            [], [("Authorization", "Basic")], [("Authorization", "Basic !!!")],
            [("Authorization", "Basic \(Base64.encode(Array("cloud:wrong".utf8)))")],
            [("Authorization", "Bearer \(Base64.encode(Array("cloud:secret".utf8)))")],
        ]
        for headers in wrong {
            let reply = fixture.send("POST", "/v2/registrations", headers: headers, body: Array("[".utf8))
            #expect(reply.outcome == "401 HTTP_401")
            #expect(reply.headers.contains { $0.name == "WWW-Authenticate" })
        }
        let credentials = Base64.encode(Array("cloud:secret".utf8))
        let lowerCase = fixture.send("GET", "/v2/registrations", headers: [("authorization", "basic \(credentials)")])
        #expect(lowerCase.status == 200)
        #expect(try fixture.exportedState() == state)
    }

    @Test func aServerWithoutAPasswordLetsNobodyIn() throws {
        var fixture = try BackendFixture { $0.cloudPassword = nil }
        #expect(fixture.cloud("GET", "/v2/registrations").status == 401)
    }

    @Test func aRegistrationMayBeCommittedByItsKeys() throws {
        var fixture = try BackendFixture()
        let users: [(phase: String?, status: String)] = [
            ("ON_KEY_EXCHANGE", "ACTIVE"), ("ON_COMMIT", "PENDING_COMMIT"), (nil, "PENDING_COMMIT"),
        ]
        for (phase, status) in users {
            let code = try fixture.activationCode(phase.map { ["commitPhase": .string($0)] } ?? [:])
            var device = fixture.newDevice()
            try device.activate(code, in: &fixture)
            #expect(fixture.status(ofActivation: device.activationID)?.rawValue == status)
        }
        for wrong: JSONObject in [
            ["commitPhase": "ON_MONDAY"], ["commitPhase": 1],
            ["commitPhase": "ON_KEY_EXCHANGE", "activationOtp": "1234", "activationOtpValidation": "ON_COMMIT"],
        ] {
            var request: JSONObject = ["userId": "alice"]
            request.members += wrong.members
            #expect(fixture.cloud("POST", "/v2/registrations", .object(request)).outcome == "400 ERROR_REQUEST")
        }
    }

    @Test func anApplicationTellsWhatTheNewerSuitesConfigureThemselvesWith() throws {
        var fixture = try BackendFixture()
        let path = "/admin/applications/mobile-token"
        let shown = fixture.cloud("GET", path).json
        let application = fixture.backend.defaultApplication
        #expect(shown["id"]?.string == application.id)
        #expect(shown["appKey"]?.string == application.key)
        #expect(shown["appSecret"]?.string == application.secret)
        #expect(shown["mobileSdkConfig"]?.string == application.sdkConfiguration)
        #expect(fixture.cloud("GET", "/admin/applications/nothing").outcome == "400 ERROR_REQUEST")
        #expect(fixture.cloud("POST", path, [:]).status == 405)
        #expect(fixture.send("GET", path).outcome == "401 HTTP_401")
    }

    @Test func flagsAreAddedAndRemoved() throws {
        var (fixture, device) = try BackendFixture.with { try $0.activeDevice(flags: ["A"]) }
        let path = "/v2/registrations/\(device.activationID)/flags"
        #expect(fixture.cloud("POST", path, ["flags": ["B", "A"]]).json["flags"] == ["A", "B"])
        #expect(fixture.cloud("DELETE", path, ["flags": ["A"]]).json["flags"] == ["B"])
        #expect(fixture.cloud("GET", path).json["flags"] == ["B"])
        #expect(fixture.cloud("POST", path, ["flags": [1]]).outcome == "400 INVALID_REQUEST")
    }

    private static let refused: [JSONValue] = [
        ["template": "nothing"], ["template": 5], ["userId": "a"], ["template": "login", "parameters": []],
        ["template": "login", "timestampExpires": 1],
        ["template": "login", "timestampExpires": .number(.init(Int64.max))],
        ["template": "login", "expiresIn": 0], ["template": "login", "expiresIn": 31_536_001],
        ["template": "login", "maxFailureCount": 0],
        ["template": "login", "maxFailureCount": .number(.init(Int64.max))],
        ["template": "login", "appId": "nothing"],
        ["template": "login", "registrationId": "nothing"],
        ["template": "payment", "parameters": ["amount": [1]]], ["operationType": "x", "data": "A1"],
        ["operationType": "x", "data": "A1", "formData": ["title": "T"]],
        ["template": "login", "proximityCheckEnabled": "yes"],
    ]

    @Test(arguments: Self.refused) func operationsThatMakeNoSenseAreNotMade(request: JSONValue) throws {
        var fixture = try BackendFixture()
        let state = try fixture.exportedState()
        let reply = fixture.cloud("POST", "/v2/operations", request)
        #expect([400, 404].contains(reply.status))
        #expect(reply.code != nil)
        #expect(try fixture.exportedState() == state)
    }
}

@Suite struct RoutingTests {
    @Test func unknownPathsAndMethodsAreRefusedInTheAPIsShape() throws {
        var fixture = try BackendFixture()
        for path in [
            "/", "", "/pa/v3", "/pa/v3/status/", "/PA/v3/status", "/v2/registrations/", "/v2/registrations/a/b/c",
            "/pa/v3/upgrade/start", "/api/auth/token/app/operation", "/v2//commit", "/v2/operations/x/offline",
        ] {
            #expect(fixture.send("POST", path).outcome == "404 ERROR_NOT_FOUND", "\(path)")
        }
        // Recording `GET /pa/v3/keystore/create`: what devices call has no answer of its own to another method.
        let wrong = fixture.send("GET", "/pa/v3/status")
        #expect(wrong.outcome == "500 ERROR_GENERIC" && wrong.reason == "Allowed here: POST")
        #expect(fixture.send("PATCH", "/v2/registrations/x").headers.contains { $0 == ("Allow", "DELETE, GET, PUT") })
    }

    @Test(arguments: ["application/json", "Application/JSON; charset=UTF-8", "application/json;charset=utf-8"])
    func jsonIsTakenHoweverItIsSpelled(type: String) throws {
        var fixture = try BackendFixture()
        let reply = fixture.send("POST", "/pa/v3/status", headers: [("content-type", type)], body: Array("{}".utf8))
        #expect(reply.object["serverTime"]?.int64 == fixture.milliseconds)
        #expect(reply.object["application"]?["name"]?.string == "Mobile Token Emulator")
    }

    @Test(.wireFact("2.2", "3.1")) func theStatusReadsNoBody() throws {
        var fixture = try BackendFixture()
        #expect(fixture.send("POST", "/pa/v3/status", body: []).outcome == "200 OK")
        for text in ["{", "nul", "[]", String(repeating: "[", count: 10_000)] {
            #expect(fixture.send("POST", "/pa/v3/status", body: Array(text.utf8)).outcome == "200 OK")
        }
    }

    /// Recordings `body broken /pa/v3/keystore/create` and its like.
    @Test func malformedBodiesAreUnexpected() throws {
        var fixture = try BackendFixture()
        for text in [
            "{", "nul", #"{"requestObject":"#, #"{"requestObject":[]}"#, String(repeating: "[", count: 10_000),
        ] {
            for path in ["/pa/v3/activation/status", "/pa/v3/keystore/create", "/pa/v4/keystore/create"] {
                #expect(fixture.send("POST", path, body: Array(text.utf8)).outcome == "500 ERROR_GENERIC", "\(path)")
            }
        }
    }
}
