import EmulatorBackend
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol
import Testing
import WireFacts

/// The check of devices' codes and tokens by a bank's own endpoint.
@Suite(.wireFact("6.1", "6.2", "B4", "2.6")) struct CloudVerificationTests {
    private static let body = Array(#"{"amount": 3}"#.utf8)

    private static func question(
        _ header: HeaderField,
        method: String = "POST",
        uriID: String = "/login",
        _ body: [UInt8]? = Self.body,
        _ more: JSONObject = [:]
    ) -> JSONValue {
        var object: JSONObject = [
            "method": .string(method), "uriId": .string(uriID), "authHeader": .string(header.value),
        ]
        object["requestBody"] = body.map { .string(Base64.encode($0)) }
        object.members += more.members
        return .object(object)
    }

    @Test(arguments: ["/v2/signature/verify", "/v2/authentication/verify"])
    func aRightCodeIsValidAndMovesTheCounter(path: String) throws {
        var (fixture, device) = try BackendFixture.with { try $0.activeDevice(flags: ["VIP"]) }
        fixture.advance(seconds: 7)
        let header = try device.codeHeader(.possessionKnowledge, uriID: "/login", body: Self.body)
        let reply = fixture.cloud("POST", path, Self.question(header))
        #expect(
            reply.json == [
                "signatureValid": true, "userId": "alice", "registrationId": .string(device.activationID),
                "registrationStatus": "ACTIVE", "signatureType": "POSSESSION_KNOWLEDGE", "flags": ["VIP"],
                "application": ["id": "mobile-token", "roles": []], "remainingAttempts": 5,
            ]
        )
        #expect(reply.counterBefore.map { $0 + 1 } == reply.counterAfter && reply.activationID == device.activationID)
        #expect(reply.inspection.code?.diagnosis == nil && reply.inspection.code != nil)
        let shown = fixture.cloud("GET", "/v2/registrations/\(device.activationID)").json
        #expect(shown["timestampLastUsed"]?.int64 == fixture.milliseconds)
        // The counter is past it: once more it is wrong.
        #expect(fixture.cloud("POST", path, Self.question(header)).json["signatureValid"] == false)
    }

    @Test func theQueryOfAGetIsCovered() throws {
        var (fixture, device) = try BackendFixture.active()
        let query = "b=%26%20x&a=1"
        let more: JSONObject = ["queryParams": ["a": "1", "b": "& x"]]
        let header = try device.codeHeader(.possession, uriID: "/list", method: "GET", body: [], query: query)
        let right = Self.question(header, method: "GET", uriID: "/list", nil, more)
        #expect(fixture.cloud("POST", "/v2/signature/verify", right).json["signatureValid"] == true)
        let other = try device.codeHeader(.possession, uriID: "/list", method: "GET", body: [], query: query)
        let wrong = Self.question(other, method: "GET", uriID: "/list", nil, ["queryParams": ["a": "2"]])
        #expect(fixture.cloud("POST", "/v2/signature/verify", wrong).json["signatureValid"] == false)
    }

    @Test func wrongCodesAreCountedAndTheLastBlocks() throws {
        var (fixture, device) = try BackendFixture.active()
        for remaining in [4, 3, 2, 1, 0] {
            let header = try device.codeHeader(.possessionKnowledge, uriID: "/other", body: Self.body)
            let reply = fixture.cloud("POST", "/v2/signature/verify", Self.question(header))
            #expect(reply.status == 200 && reply.json["signatureValid"] == false)
            #expect(reply.json["remainingAttempts"]?.int64 == Int64(remaining))
            #expect(reply.json["registrationStatus"]?.string == (remaining == 0 ? "BLOCKED" : "ACTIVE"))
            #expect(reply.verdict != .accepted && reply.counterBefore == reply.counterAfter)
        }
        let blocked = try device.codeHeader(.possessionKnowledge, uriID: "/login", body: Self.body)
        let id = JSONValue.string(device.activationID)
        #expect(
            fixture.cloud("POST", "/v2/signature/verify", Self.question(blocked)).json
                == ["signatureValid": false, "registrationId": id, "registrationStatus": "BLOCKED"]
        )
        let path = "/v2/registrations/\(device.activationID)"
        #expect(fixture.cloud("PUT", path, ["change": "UNBLOCK"]).json["registrationStatus"] == "ACTIVE")
        let header = try device.codeHeader(.possessionKnowledge, uriID: "/login", body: Self.body)
        #expect(
            fixture.cloud("POST", "/v2/signature/verify", Self.question(header)).json["signatureValid"] == true
        )
    }

    @Test func aHeaderWithoutSenseIsRefusedAndCountsNothing() throws {
        var (fixture, device) = try BackendFixture.active()
        let header = try device.codeHeader(.possessionKnowledge, uriID: "/login", body: Self.body)
        let state = try fixture.exportedState()
        for value in ["PowerAuth", "Basic x", header.value.replacing("pa_nonce", with: "pa_once")] {
            let reply = fixture.cloud("POST", "/v2/signature/verify", Self.question((header.name, value)))
            #expect(reply.outcome == "400 ERROR_SIGNATURE_INVALID")
        }
        let body = Self.question(header, nil, ["requestBody": "no Base64!"])
        let refused = fixture.cloud("POST", "/v2/signature/verify", body)
        #expect(refused.outcome == "400 ERROR_REQUEST")
        #expect(refused.object["violations"]?[0]?["fieldName"] == "requestBody")
        #expect(try fixture.exportedState() == state)
        let unknown = header.value.replacing(device.activationID, with: "00000000-0000-4000-8000-000000000000")
        let reply = fixture.cloud("POST", "/v2/signature/verify", Self.question((header.name, unknown)))
        #expect(reply.json["signatureValid"] == false && reply.json["registrationStatus"] == "REMOVED")
    }

    @Test func aTokenIsVerifiedWithItsFactors() throws {
        var (fixture, device) = try BackendFixture.active()
        try device.createToken(.possessionKnowledge, in: &fixture)
        let header = device.tokenHeader(timestamp: fixture.milliseconds)
        let question: JSONValue = ["authHeader": .string(header.value)]
        #expect(
            fixture.cloud("POST", "/v2/token/verify", question).json == [
                "tokenValid": true, "userId": "alice", "registrationId": .string(device.activationID),
                "registrationStatus": "ACTIVE", "signatureType": "POSSESSION_KNOWLEDGE", "flags": [],
                "application": ["id": "mobile-token", "roles": []],
            ]
        )
        // Once only.
        let again = fixture.cloud("POST", "/v2/token/verify", question)
        #expect(again.json["tokenValid"] == false && again.verdict != .accepted)
        device.tokenID = "00000000-0000-4000-8000-000000000000"
        let unknown = device.tokenHeader(timestamp: fixture.milliseconds)
        #expect(
            fixture.cloud("POST", "/v2/token/verify", ["authHeader": .string(unknown.value)]).json
                == ["tokenValid": false]
        )
        let senseless = fixture.cloud("POST", "/v2/token/verify", ["authHeader": "PowerAuth"])
        #expect(senseless.outcome == "400 ERROR_TOKEN_INVALID")
    }
}
