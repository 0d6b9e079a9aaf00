import PowerAuthCrypto
import PowerAuthProtocol
import Testing
import WireFacts

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// What the server refuses of requests with a token. None of it changes anything but the nonces that are used up.
@Suite struct TokenRefusalTests {
    private static let path = "/api/auth/token/app/operation/list"

    @Test func aReplayIsRefused() throws {
        var fixture = try BackendFixture()
        let device = try fixture.deviceWithToken()
        let header = device.tokenHeader(timestamp: fixture.milliseconds)
        #expect(fixture.send(Self.path, headers: [header], json: [:]).outcome == "200 OK")
        let state = try fixture.exportedState()
        #expect(fixture.send(Self.path, headers: [header], json: [:]).outcome == "401 POWERAUTH_AUTH_FAIL")
        fixture.advance(seconds: 7000)
        #expect(fixture.send(Self.path, headers: [header], json: [:]).outcome == "401 POWERAUTH_AUTH_FAIL")
        #expect(try fixture.exportedState() == state)
    }

    @Test func aWrongSecretIsRefused() throws {
        var fixture = try BackendFixture()
        var device = try fixture.deviceWithToken()
        device.tokenSecret = SecretBytes(copying: [UInt8](repeating: 0, count: 16))
        try Self.expectRefusal(of: device, &fixture)
    }

    @Test(.wireFact("B29")) func aWrongDigestUsesTheNonceUp() throws {
        var fixture = try BackendFixture()
        let device = try fixture.deviceWithToken()
        let right = device.tokenHeader(timestamp: fixture.milliseconds)
        let digest = try #require(HeaderFields(parsing: right.value)["token_digest"])
        let wrong = right.value.replacing(digest, with: Base64.encode([UInt8](repeating: 0, count: 32)))
        #expect(fixture.send(Self.path, headers: [(right.name, wrong)], json: [:]).status == 401)
        let reply = fixture.send(Self.path, headers: [right], json: [:])
        #expect(reply.status == 401 && reply.reason == "the request was sent before")
    }

    @Test func anUnknownTokenIsRefused() throws {
        var fixture = try BackendFixture()
        var device = try fixture.deviceWithToken()
        device.tokenID = "00000000-0000-4000-8000-000000000000"
        try Self.expectRefusal(of: device, &fixture)
    }

    @Test func aRemovedTokenIsRefused() throws {
        var fixture = try BackendFixture()
        var device = try fixture.deviceWithToken()
        let request: JSONValue = ["requestObject": ["tokenId": .string(device.tokenID)]]
        let removal = try device.sendSigned(
            "/pa/v3/token/remove",
            uriID: "/pa/token/remove",
            .possession,
            request,
            in: &fixture
        )
        #expect(removal.object["tokenId"]?.string == device.tokenID)
        try Self.expectRefusal(of: device, &fixture)
    }

    @Test func anotherActivationsTokenIsNotRemoved() throws {
        var fixture = try BackendFixture()
        let victim = try fixture.deviceWithToken()
        var other = try fixture.activeDevice(user: "mallory")
        let request: JSONValue = ["requestObject": ["tokenId": .string(victim.tokenID)]]
        _ = try other.sendSigned("/pa/v3/token/remove", uriID: "/pa/token/remove", .possession, request, in: &fixture)
        #expect(victim.sendWithToken(Self.path, in: &fixture).outcome == "200 OK")
    }

    @Test func aTokenOfABlockedActivationIsRefused() throws {
        var fixture = try BackendFixture()
        let device = try fixture.deviceWithToken()
        _ = fixture.cloud("PUT", "/v2/registrations/\(device.activationID)", ["change": "BLOCK"])
        try Self.expectRefusal(of: device, &fixture)
        _ = fixture.cloud("PUT", "/v2/registrations/\(device.activationID)", ["change": "UNBLOCK"])
        #expect(device.sendWithToken(Self.path, in: &fixture).outcome == "200 OK")
    }

    @Test(.wireFact("B29")) func aDigestOfAnotherVersionIsRefusedAndItsNonceUsedUp() throws {
        var fixture = try BackendFixture()
        let device = try fixture.deviceWithToken(version: .v3_1)
        let header = device.tokenHeader(timestamp: fixture.milliseconds)
        let upgraded = header.value.replacing(#"version="3.1""#, with: #"version="3.3""#)
        #expect(fixture.send(Self.path, headers: [(header.name, upgraded)], json: [:]).status == 401)
        #expect(fixture.send(Self.path, headers: [header], json: [:]).status == 401)
        let another = device.tokenHeader(timestamp: fixture.milliseconds)
        #expect(fixture.send(Self.path, headers: [another], json: [:]).status == 200)
    }

    @Test func aSignatureIsNoToken() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice()
        let reply = try device.sendSigned(Self.path, uriID: "/operation/list", in: &fixture)
        #expect(reply.outcome == "401 POWERAUTH_AUTH_FAIL")
    }

    private static func expectRefusal(of device: TestDevice, _ fixture: inout BackendFixture) throws {
        let state = try fixture.exportedStateBesidesReplays()
        #expect(device.sendWithToken(self.path, in: &fixture).outcome == "401 POWERAUTH_AUTH_FAIL")
        #expect(device.sendWithToken("/api/inbox/count", in: &fixture).outcome == "401 ERR_AUTHENTICATION")
        #expect(try fixture.exportedStateBesidesReplays() == state)
    }
}
