import Foundation
import MobileToken
import MobileTokenTesting
import PowerAuthProtocol
import Testing
import WireFacts

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// Tests bodies that cannot be read: by default the server names the fault; real servers of release 1.10 answer 500.
@Suite(.wireFact("B17", "2.2")) struct StrictProfileTests {
    private static func fixture(isStrict: Bool) throws -> BackendFixture {
        try BackendFixture { $0.profile = EmulatorServerProfile(.v1_10, isStrict: isStrict) }
    }

    private static let detail = "/api/auth/token/app/operation/detail"
    private static let read = [
        detail, "\(detail)/claim", "/api/inbox/message/list", "/api/inbox/message/detail", "/api/inbox/message/read",
    ]

    @Test(arguments: read, [true, false]) func aMalformedBodyOrNoRequestObject(path: String, isStrict: Bool) throws {
        var fixture = try Self.fixture(isStrict: isStrict)
        let device = try fixture.deviceWithToken()
        for body in ["{", "[]", #"{"requestObject":null}"#, "{}", #"{"requestObject":[1]}"#] {
            let token = device.tokenHeader(timestamp: fixture.milliseconds)
            let reply = fixture.send("POST", path, headers: [token], body: Array(body.utf8))
            #expect(reply.outcome == (isStrict ? "500 ERROR_GENERIC" : "400 INVALID_REQUEST"), "\(body)")
        }
    }

    @Test(arguments: [true, false]) func anUnknownValueOfAnEnumeration(isStrict: Bool) throws {
        var fixture = try Self.fixture(isStrict: isStrict)
        var device = try fixture.deviceWithToken()
        let outcome = isStrict ? "500 ERROR_GENERIC" : "400 INVALID_REQUEST"
        for request: JSONValue in [
            ["platform": "telegraph", "token": "t"], ["platform": "apns", "token": "t", "environment": "sandbox"],
        ] {
            let reply = device.sendWithToken("/api/push/device/register", ["requestObject": request], in: &fixture)
            #expect(reply.outcome == outcome)
        }
        let operation = try fixture.operation("login_proximity")
        let reply = try device.authorize(
            operation,
            more: ["proximityCheck": ["otp": "1", "type": "NFC"]],
            in: &fixture
        )
        #expect(reply.outcome == outcome)
        #expect(fixture.cloud("GET", "/v2/operations/\(operation.id)").json["failureCount"] == 0)
    }

    @Test(arguments: [true, false]) func aWrongMethodOrContentType(isStrict: Bool) throws {
        var fixture = try Self.fixture(isStrict: isStrict)
        #expect(fixture.send("GET", Self.detail).status == (isStrict ? 500 : 405))
        let text = (name: "Content-Type", value: "text/plain")
        let reply = fixture.send("POST", Self.detail, headers: [text], body: Array("{}".utf8))
        #expect(reply.outcome == (isStrict ? "500 ERROR_GENERIC" : "415 INVALID_REQUEST"))
        // Other APIs stay as they are, and a path that is not there is one.
        #expect(fixture.send("GET", "/pa/v3/status").status == 405)
        #expect(fixture.send("GET", "/api/nothing").outcome == "404 ERROR_NOT_FOUND")
    }

    @Test(arguments: [true, false]) func whatHasARefusalOfItsOwnKeepsIt(isStrict: Bool) throws {
        var fixture = try Self.fixture(isStrict: isStrict)
        var device = try fixture.deviceWithToken()
        let null: JSONValue = ["requestObject": .null]
        for (path, uriID, type) in [
            ("authorize", "/operation/authorize", SignatureType.possessionKnowledge),
            ("cancel", "/operation/cancel", .possession),
        ] {
            let path = "/api/auth/token/app/operation/\(path)"
            let reply = try device.sendSigned(path, uriID: uriID, type, null, in: &fixture)
            #expect(reply.outcome == "401 POWERAUTH_AUTH_FAIL")
            #expect(reply.verdict == .refused(reason: "the request object is missing"))
        }
        #expect(device.sendWithToken("/api/push/device/register", null, in: &fixture).outcome == "400 INVALID_REQUEST")
        let unnamed = device.sendWithToken(Self.detail, ["requestObject": [:]], in: &fixture)
        #expect(unnamed.outcome == "400 INVALID_REQUEST")
    }

    /// The body is read before anybody asks who sent it, though the code was looked at first.
    @Test func whatIsMalformedIsNotEvenRefusedForItsSender() throws {
        for (isStrict, outcome) in [(true, "500 ERROR_GENERIC"), (false, "401 POWERAUTH_AUTH_FAIL")] {
            var fixture = try Self.fixture(isStrict: isStrict)
            #expect(fixture.send("POST", Self.detail, body: Array("{".utf8)).outcome == outcome)
            #expect(fixture.send("POST", Self.detail, body: Array("{}".utf8)).outcome == "401 POWERAUTH_AUTH_FAIL")
        }
    }

    @Test func theJournalSaysWhatWasWrong() throws {
        var fixture = try Self.fixture(isStrict: true)
        let device = try fixture.deviceWithToken()
        let reply = device.sendWithToken(Self.detail, [:], in: &fixture)
        #expect(reply.verdict == .refused(reason: "The request object is missing"))
    }

    /// Clients must live with it: it is the server's fault, and what became of a decision is not known.
    @Test func theSDKTakesItForAnErrorOfTheServer() async throws {
        try await withEmulator { emulator in
            let client = try emulator.makeClient()
            let activation = try await emulator.makeActivation(user: "alice", password: "correct", client: client)
            let operations = client.operations(of: activation)
            let offered = try await emulator.cloud.createOperation("login", userID: "alice")
            let operation = try #require(try await operations.operations().first { $0.id == offered.id })
            await emulator.faults.set([FaultRule(effect: .init(status: 500, code: "ERROR_GENERIC"))])
            for call: () async throws -> Void in [
                { _ = try await operations.operations() },
                { try await operations.authorize(operation, with: .possessionAndKnowledge(password: "correct")) },
            ] {
                do {
                    try await call()
                    Issue.record("a response of 500 was taken for success")
                } catch let error as MobileTokenError {
                    #expect(error.code == .serverError)
                    #expect(error.httpStatus == 500 && error.serverCode == "ERROR_GENERIC")
                }
            }
        }
    }
}
