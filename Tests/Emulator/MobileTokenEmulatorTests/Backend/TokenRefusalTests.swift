import EmulatorBackend
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol
import Testing
import WireFacts

/// The refusals of requests with a token by the server. None changes anything but the nonces that are used up.
@Suite struct TokenRefusalTests {
    private static let path = "/api/auth/token/app/operation/list"

    @Test(arguments: MajorVersion.allCases) func aReplayIsRefused(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.with { try $0.deviceWithToken(of: version) }
        let header = try device.tokenHeader(in: fixture)
        #expect(fixture.send(Self.path, headers: [header], json: [:]).outcome == "200 OK")
        let state = try fixture.exportedState()
        #expect(fixture.send(Self.path, headers: [header], json: [:]).outcome == "401 POWERAUTH_AUTH_FAIL")
        fixture.advance(seconds: 7000)
        #expect(fixture.send(Self.path, headers: [header], json: [:]).outcome == "401 POWERAUTH_AUTH_FAIL")
        #expect(try fixture.exportedState() == state)
    }

    @Test(arguments: MajorVersion.allCases) func aWrongSecretIsRefused(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.with { try $0.deviceWithToken(of: version) }
        device.tokenSecret = SecretBytes(copying: [UInt8](repeating: 0, count: device.tokenSecret.count))
        try Self.expectRefusal(of: device, &fixture)
    }

    @Test(.wireFact("B29"), arguments: MajorVersion.allCases) func aWrongDigestUsesTheNonceUp(version: MajorVersion)
        throws
    {
        var (fixture, device) = try BackendFixture.with { try $0.deviceWithToken(of: version) }
        let right = try device.tokenHeader(in: fixture)
        let digest = try #require(HeaderFields(parsing: right.value)["token_digest"])
        let wrong = right.value.replacing(digest, with: Base64.encode([UInt8](repeating: 0, count: 32)))
        #expect(fixture.send(Self.path, headers: [(right.name, wrong)], json: [:]).status == 401)
        let reply = fixture.send(Self.path, headers: [right], json: [:])
        #expect(reply.status == 401 && reply.reason == "the request was sent before")
    }

    @Test(arguments: MajorVersion.allCases) func anUnknownTokenIsRefused(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.with { try $0.deviceWithToken(of: version) }
        device.tokenID = "00000000-0000-4000-8000-000000000000"
        try Self.expectRefusal(of: device, &fixture)
    }

    @Test(arguments: MajorVersion.allCases) func aRemovedTokenIsRefused(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.with { try $0.deviceWithToken(of: version) }
        let request: JSONValue = ["requestObject": ["tokenId": .string(device.tokenID)]]
        let removal = try device.sendSigned(device.path("token/remove"), .possession, request, in: &fixture)
        #expect(removal.object["tokenId"]?.string == device.tokenID)
        try Self.expectRefusal(of: device, &fixture)
        let nameless: JSONValue = ["requestObject": [:]]
        let path = device.path("token/remove")
        let unnamed = try device.sendSigned(path, uriID: "/pa/token/remove", .possession, nameless, in: &fixture)
        #expect(unnamed.outcome == "400 ERR_VALIDATION")
    }

    @Test(arguments: MajorVersion.allCases) func anotherActivationsTokenIsNotRemoved(version: MajorVersion) throws {
        var (fixture, victim) = try BackendFixture.with { try $0.deviceWithToken(of: version) }
        var other = try fixture.device(version, user: "mallory")
        let request: JSONValue = ["requestObject": ["tokenId": .string(victim.tokenID)]]
        _ = try other.sendSigned(other.path("token/remove"), .possession, request, in: &fixture)
        #expect(try victim.sendToken(to: Self.path, in: &fixture).outcome == "200 OK")
    }

    @Test(arguments: MajorVersion.allCases) func aTokenOfABlockedActivationIsRefused(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.with { try $0.deviceWithToken(of: version) }
        _ = fixture.cloud("PUT", "/v2/registrations/\(device.activationID)", ["change": "BLOCK"])
        try Self.expectRefusal(of: device, &fixture)
        _ = fixture.cloud("PUT", "/v2/registrations/\(device.activationID)", ["change": "UNBLOCK"])
        #expect(try device.sendToken(to: Self.path, in: &fixture).outcome == "200 OK")
    }

    @Test(.wireFact("B29")) func aDigestOfAnotherVersionIsRefusedAndItsNonceUsedUp() throws {
        var (fixture, device) = try BackendFixture.with { try $0.deviceWithToken(version: .v3_1) }
        let header = device.tokenHeader(timestamp: fixture.milliseconds)
        let upgraded = header.value.replacing(#"version="3.1""#, with: #"version="3.3""#)
        #expect(fixture.send(Self.path, headers: [(header.name, upgraded)], json: [:]).status == 401)
        #expect(fixture.send(Self.path, headers: [header], json: [:]).status == 401)
        let another = device.tokenHeader(timestamp: fixture.milliseconds)
        #expect(fixture.send(Self.path, headers: [another], json: [:]).status == 200)
    }

    @Test(arguments: MajorVersion.allCases) func aSignatureIsNoToken(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        let reply = try device.sendSigned(Self.path, uriID: "/operation/list", in: &fixture)
        #expect(reply.outcome == "401 POWERAUTH_AUTH_FAIL")
    }

    private static func expectRefusal(of device: any ClientDevice, _ fixture: inout BackendFixture) throws {
        let state = try fixture.exportedStateBesidesReplays()
        #expect(try device.sendToken(to: self.path, in: &fixture).outcome == "401 POWERAUTH_AUTH_FAIL")
        #expect(try device.sendToken(to: "/api/inbox/count", in: &fixture).outcome == "401 ERR_AUTHENTICATION")
        #expect(try fixture.exportedStateBesidesReplays() == state)
    }
}
