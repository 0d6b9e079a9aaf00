import ExactJSON
import PowerAuthCrypto
import TestSupport
import Testing
import WireFacts

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// Refusals of signed requests of version 3, in what version 4 has differently or not at all.
@Suite struct SignatureRefusalTests {
    @Test func aTamperedBodyIsRefused() throws {
        var (fixture, device) = try BackendFixture.active()
        let operation = try fixture.operation()
        let body = Array(#"{"requestObject":{"id":"\#(operation.id)","reason":"UNKNOWN"}}"#.utf8)
        let header = try device.codeHeader(.possession, uriID: "/operation/cancel", body: body)
        let path = "/api/auth/token/app/operation/cancel"
        let state = try fixture.exportedState()
        #expect(fixture.send("POST", path, headers: [header], body: body + [0x20]).outcome == "401 POWERAUTH_AUTH_FAIL")
        #expect(try fixture.exportedState() == state)  // possession alone is not counted
        #expect(fixture.send("POST", path, headers: [header], body: body).outcome == "200 OK")
    }

    @Test(arguments: [
        SignatureType.possession, .possessionKnowledge, .possessionBiometry, .possessionKnowledgeBiometry,
    ])
    func signaturesAreValidatedWhateverTheFactorsBesidePossession(type: SignatureType) throws {
        for release in EmulatorServerProfile.Release.allCases {
            var fixture = try BackendFixture { $0.profile = .init(release) }
            var device = try fixture.activeDevice()
            let path = "/pa/v3/signature/validate"
            let reply = try device.sendSigned(path, uriID: "/pa/signature/validate", type, in: &fixture)
            let isGone = type == .possessionKnowledgeBiometry && release >= .v2_1
            #expect(reply.outcome == (isGone ? "401 ERR_AUTHENTICATION" : "200 OK"))
            #expect(reply.reason?.hasSuffix("; servers of release 1.9, 1.10 take it") ?? !isGone)
        }
    }

    @Test(.wireFact("B5", "2.6")) func aTypeThatTheEndpointDoesNotTakeIsRefusedBeforeTheSignature() throws {
        var (fixture, device) = try BackendFixture.active()
        let state = try fixture.exportedState()
        let cases: [(path: String, uriID: String, SignatureType)] = [
            ("/api/auth/token/app/operation/history", "/operation/history", .possession),
            ("/api/auth/token/app/operation/cancel", "/operation/cancel", .possessionKnowledge),
            ("/pa/v3/activation/remove", "/pa/activation/remove", .possession),
            ("/pa/v3/signature/validate", "/pa/signature/validate", .knowledge),
        ]
        for (path, uriID, type) in cases {
            let reply = try device.sendSigned(path, uriID: uriID, type, in: &fixture)
            #expect(reply.status == 401 && reply.inspection.code == nil)
            if reply.code == "ERR_AUTHENTICATION" { #expect(reply.object["message"] == "POWER_AUTH_CODE_INVALID") }
        }
        // Nor is a wrong signature counted then.
        device.wrongKnowledge = device.keys?.possession
        _ = try device.validate(.knowledge, in: &fixture)
        #expect(try fixture.exportedState() == state)
    }

    @Test func nothingIsSignedBeforeTheCommitNorAfterTheEnd() throws {
        var fixture = try BackendFixture()
        var device = fixture.newDevice()
        try device.activate(fixture.activationCode(), in: &fixture)
        for status in ["PENDING_COMMIT", "REMOVED"] {
            #expect(fixture.status(ofActivation: device.activationID)?.rawValue == status)
            let state = try fixture.exportedState()
            let path = "/pa/v3/signature/validate"
            let reply = try device.sendSigned(path, uriID: "/pa/signature/validate", in: &fixture)
            #expect(reply.outcome == "401 ERR_AUTHENTICATION")
            #expect(try fixture.exportedState() == state)
            _ = fixture.cloud("DELETE", "/v2/registrations/\(device.activationID)")
        }
        // Recording `REMOVED, blocked by an unknown application key, then unblocked by the bank`.
        var stranger = Self.stranger(like: device, key: Base64.encode([UInt8](repeating: 1, count: 16)))
        for _ in 0..<5 { _ = try stranger.validate(in: &fixture) }
        #expect(fixture.status(ofActivation: device.activationID) == .blocked)
        _ = fixture.cloud("PUT", "/v2/registrations/\(device.activationID)", ["change": "UNBLOCK"])
        #expect(fixture.status(ofActivation: device.activationID) == .active && fixture.failures == 0)
    }

    private static func stranger(like device: TestDevice, key: String) -> TestDevice {
        var stranger = TestDevice(application: altered(device.application) { $0.key = key }, version: .v3_3)
        (stranger.activationID, stranger.keys, stranger.counter) = (device.activationID, device.keys, device.counter)
        return stranger
    }

    @Test(.wireFact("2.6")) func aWrongApplicationKeyCountsUnlessPossessionSigns() throws {
        var (fixture, device) = try BackendFixture.active()
        _ = fixture.cloud("POST", "/admin/applications", ["id": "other"])
        let other = try #require(fixture.backend.state.applications["other"])
        for (number, key) in [Base64.encode([UInt8](repeating: 1, count: 16)), other.key].enumerated() {
            var stranger = Self.stranger(like: device, key: key)
            for (type, failures) in [(SignatureType.possession, number), (.possessionKnowledge, number + 1)] {
                let (path, uriID) = ("/pa/v3/signature/validate", "/pa/signature/validate")
                let reply = try stranger.sendSigned(path, uriID: uriID, type, in: &fixture)
                #expect(reply.outcome == "401 ERR_AUTHENTICATION")
                #expect(fixture.backend.activations[0].failedAttempts == failures)
            }
        }
        #expect(try device.validate(in: &fixture).outcome == "200 OK")
        #expect(fixture.backend.activations[0].failedAttempts == 0)
    }

    /// Row `unsupported version of the application: validate`.
    @Test(.wireFact("2.6")) func aRightCodeOfAVersionThatIsSwitchedOffIsCounted() throws {
        var (fixture, device) = try BackendFixture.active()
        fixture.backend.protocolRules.unsupportedApplications = [fixture.backend.defaultApplication.id]
        for failures in 1...5 {
            let reply = try device.validate(in: &fixture)
            #expect(reply.outcome == "401 ERR_AUTHENTICATION")
            #expect(reply.reason?.contains("the version of the application is switched off") == true)
            #expect(fixture.backend.activations[0].failedAttempts == failures)
        }
        #expect(fixture.backend.activations[0].status == .blocked)
    }
}
