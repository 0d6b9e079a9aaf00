import EmulatorMessages
import ExactJSON
import MobileTokenTesting
import Testing
import WireFacts

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// The trace that the server keeps of an attempt to decide.
@Suite(.wireFact("B14")) struct DecisionTraceTests {
    private static let agent =
        "PowerAuthNetworking/1.1.7 (en; cellular) com.example.app/2.0.0 (Apple; iOS/16.6.1; iphone12,3)"

    private static func kept(_ id: String, _ fixture: inout BackendFixture) -> JSONObject {
        fixture.cloud("GET", "/v2/operations/\(id)").json["additionalData"]?.object ?? [:]
    }

    /// Sends a decision with header fields of a device behind a proxy.
    private static func decide(
        _ device: inout TestDevice,
        _ path: String,
        _ type: SignatureType,
        _ request: JSONObject,
        in fixture: inout BackendFixture
    ) throws -> Reply {
        let body = JSONValue.object(["requestObject": .object(request)]).serialized()
        let code = try device.codeHeader(type, uriID: "/operation/\(path)", body: body)
        let headers = [code, ("User-Agent", Self.agent), ("X-Forwarded-For", "192.0.2.7, 10.0.0.1")]
        return fixture.send("POST", "/api/auth/token/app/operation/\(path)", headers: headers, body: body)
    }

    private static let device: JSONValue = [
        "networkVersion": "1.1.7", "language": "en", "connection": "cellular", "product": "com.example.app",
        "version": "2.0.0", "platform": "Apple", "os": "iOS", "osVersion": "16.6.1", "model": "iphone12,3",
    ]

    @Test func anApprovalTellsWhoAndHow() throws {
        var (fixture, device) = try BackendFixture.active()
        let operation = try fixture.operation("login_proximity")
        let code = try #require(fixture.cloud("GET", "/v2/operations/\(operation.id)").json["proximityOtp"])
        let request: JSONObject = [
            "id": .string(operation.id), "data": .string(operation.data), "proximityCheck": ["otp": code],
            "mobileTokenData": ["a": [1]],
        ]
        #expect(try Self.decide(&device, "authorize", .possessionKnowledge, request, in: &fixture).outcome == "200 OK")
        #expect(
            JSONValue.object(Self.kept(operation.id, &fixture)) == [
                "activationId": .string(device.activationID),
                "applicationId": .string(fixture.backend.defaultApplicationID), "authFactor": "possession_knowledge",
                "device": Self.device, "ipAddress": "192.0.2.7, 10.0.0.1", "mobileTokenData": ["a": [1]],
                "proximity_otp": code, "userAgent": .string(Self.agent),
            ]
        )
    }

    @Test func aRejectionTellsNoFactor() throws {
        var (fixture, device) = try BackendFixture.active()
        let id = try fixture.operation().id
        let request: JSONObject = ["id": .string(id), "reason": "INCORRECT_DATA", "mobileTokenData": [:]]
        #expect(try Self.decide(&device, "cancel", .possession, request, in: &fixture).outcome == "200 OK")
        #expect(
            JSONValue.object(Self.kept(id, &fixture)) == [
                "activationId": .string(device.activationID),
                "applicationId": .string(fixture.backend.defaultApplicationID), "device": Self.device,
                "ipAddress": "192.0.2.7, 10.0.0.1", "mobileTokenData": [:], "rejectReason": "INCORRECT_DATA",
                "userAgent": .string(Self.agent),
            ]
        )
    }

    @Test func aFailedAuthenticationTellsWhereItCameFromAndARefusedApprovalAllOfIt() throws {
        var (fixture, device) = try BackendFixture.active()
        let id = try fixture.operation().id
        let request: JSONObject = ["id": .string(id), "data": "other"]
        let wrong = try Self.decide(&device, "authorize", .possessionKnowledge, request, in: &fixture)
        #expect(wrong.outcome == "401 OPERATION_FAILED")
        #expect(Self.kept(id, &fixture)["authFactor"] == "possession_knowledge")
        let other = try fixture.operation().id
        device.wrongKnowledge = device.keys?.transport
        let another: JSONObject = ["id": .string(other), "data": "other"]
        let failed = try Self.decide(&device, "authorize", .possessionKnowledge, another, in: &fixture)
        #expect(failed.outcome == "401 POWERAUTH_AUTH_FAIL")
        #expect(Self.kept(other, &fixture).keys == ["device", "ipAddress", "userAgent"])
    }

    @Test func serversBeforeReleaseTwoDropWhatTheDeviceTellsOfItself() throws {
        for (release, isKept) in [(EmulatorServerProfile.Release.v1_10, false), (.v2_1, true)] {
            var fixture = try BackendFixture { $0.profile = EmulatorServerProfile(release) }
            var device = try fixture.activeDevice()
            let operation = try fixture.operation()
            let reply = try device.authorize(operation, more: ["mobileTokenData": ["a": 1]], in: &fixture)
            #expect(reply.outcome == "200 OK")
            #expect((Self.kept(operation.id, &fixture)["mobileTokenData"] != nil) == isKept)
        }
    }

    @Test(
        arguments: [
            (
                "PowerAuthNetworking/1.1.7 ",
                [
                    "networkVersion": "1.1.7", "language": nil, "connection": nil, "product": nil, "version": nil,
                    "platform": nil, "os": nil, "osVersion": nil, "model": nil,
                ]
            ),
            (
                "Mozilla PowerAuth2/1.7.0 (Android 13; Pixel 7)",
                [
                    "networkVersion": "1.7.0", "language": nil, "connection": nil, "product": nil, "version": nil,
                    "platform": nil, "os": "Android", "osVersion": "13", "model": "Pixel 7",
                ]
            ),
            ("PowerAuthNetworking/2.0.0 (en; wifi) a/1", nil), ("xPowerAuthNetworking/1.1.7 ", nil),
            ("curl/8.5.0", nil),
            ("", nil),
        ] as [(String, JSONObject?)]
    )
    func aDeviceIsReadFromTheUserAgent(agent: String, expected: JSONObject?) {
        #expect(DeviceDescription(userAgent: agent)?.members == expected)
    }

    @Test func longHeaderFieldsAreCut() {
        var request = ReceivedRequest(method: "POST", path: "/")
        request.headers = [("User-Agent", String(repeating: "a", count: 100_000))]
        #expect(DecisionTrace(of: request).members["userAgent"]?.string?.utf8.count == 512)
    }

    /// Over a socket the address is that of the connection.
    @Test func withoutAProxyTheAddressIsTheConnections() async throws {
        try await withEmulator { emulator in
            let operation = try await emulator.cloud.createOperation("login", userID: "alice")
            let body = #"{"requestObject":{"id":"\#(operation.id)","data":"A2"}}"#
            let reply = try await emulator.send("POST", "/api/auth/token/app/operation/authorize", body: body)
            #expect(reply.status == 401)
            let path = "/v2/operations/\(operation.id)"
            let shown = try await emulator.bank("GET", path)
            #expect(try JSONValue(parsing: Array(shown.body))["additionalData"]?["ipAddress"] == "127.0.0.1")
        }
    }
}
