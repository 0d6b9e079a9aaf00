import PowerAuthCrypto
import PowerAuthProtocol
import Testing
import WireFacts

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// Refusals of signed requests of version 3, in what version 4 has differently or not at all.
@Suite struct SignatureRefusalTests {
    @Test func aTamperedBodyIsRefused() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice()
        let operation = try fixture.operation()
        let body = Array(#"{"requestObject":{"id":"\#(operation.id)","reason":"UNKNOWN"}}"#.utf8)
        let header = try device.signatureHeader(.possession, uriID: "/operation/cancel", body: body)
        let path = "/api/auth/token/app/operation/cancel"
        let state = try fixture.exportedState()
        let refused = fixture.send("POST", path, headers: [header], body: body + [0x20])
        #expect(refused.outcome == "401 POWERAUTH_AUTH_FAIL")
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

    @Test func aClientThatFellBehindIsRefused() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice()
        _ = try fixture.backend.administer(.advanceCounter(activationID: device.activationID, by: 1), at: fixture.now)
        let path = "/pa/v3/signature/validate"
        let behind = try device.sendSigned(path, uriID: "/pa/signature/validate", in: &fixture)
        #expect(behind.outcome == "401 ERR_AUTHENTICATION")
        let inStep = try device.sendSigned(path, uriID: "/pa/signature/validate", in: &fixture)
        #expect(inStep.outcome == "200 OK")
    }

    @Test(.wireFact("B5", "2.6")) func aTypeThatTheEndpointDoesNotTakeIsRefusedBeforeTheSignature() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice()
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
            let isRemoval = uriID == "/pa/activation/remove"
            guard reply.code == "ERR_AUTHENTICATION" else { continue }
            let message = isRemoval ? "POWER_AUTH_CODE_TYPE_INVALID" : "POWER_AUTH_CODE_INVALID"
            #expect(reply.object["message"]?.string == message)
        }
        // Nor is a wrong signature counted then.
        device.wrongKnowledge = device.keys?.possession
        _ = try device.sendSigned(
            "/pa/v3/signature/validate",
            uriID: "/pa/signature/validate",
            .knowledge,
            in: &fixture
        )
        #expect(try fixture.exportedState() == state)
    }

    @Test func malformedBodiesAfterAGoodSignatureMoveTheCounter() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice()
        for text in ["", "[", "[]", #"{"requestObject":1}"#, #"{"requestObject":{"id":5}}"#, "\u{FF}"] {
            let body = text == "\u{FF}" ? [0xFF] : Array(text.utf8)
            let header = try device.signatureHeader(.possession, uriID: "/operation/cancel", body: body)
            let reply = fixture.send(
                "POST",
                "/api/auth/token/app/operation/cancel",
                headers: [header],
                body: body
            )
            #expect(reply.outcome == (text.isEmpty ? "401 POWERAUTH_AUTH_FAIL" : "400 INVALID_REQUEST"))
            #expect(reply.counterAfter == reply.counterBefore.map { $0 + 1 })
        }
    }

    @Test func headersThatCannotBeReadChangeNothing() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice()
        let body = Array("{}".utf8)
        let good = try device.signatureHeader(.possessionKnowledge, uriID: "/pa/signature/validate", body: body).value
        let state = try fixture.exportedState()
        let bad = [
            "", "PowerAuth", "Bearer x", good.replacing("PowerAuth ", with: "powerauth "),
            good.replacing("pa_nonce", with: "nonce"), good.replacing("possession_knowledge", with: "trust_me"),
            good.replacing(#"pa_version="3.3""#, with: #"pa_version="4.0""#),
            good.replacing(device.activationID, with: "not-an-identifier"),
        ]
        for value in bad {
            let reply = fixture.send("/pa/v3/signature/validate", headers: [(SignatureHeader.name, value)], json: [:])
            #expect(reply.outcome == "401 ERR_AUTHENTICATION", "\(value)")
        }
        #expect(fixture.send("/pa/v3/signature/validate", json: [:]).outcome == "401 ERR_AUTHENTICATION")
        #expect(try fixture.exportedState() == state)
    }

    @Test func anUnknownActivationIsRefused() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice()
        device.activationID = "00000000-0000-4000-8000-000000000000"
        let state = try fixture.exportedState()
        let reply = try device.sendSigned("/pa/v3/signature/validate", uriID: "/pa/signature/validate", in: &fixture)
        #expect(reply.outcome == "401 ERR_AUTHENTICATION")
        #expect(try fixture.exportedState() == state)
    }

    @Test(.wireFact("2.6")) func aWrongApplicationKeyCountsUnlessPossessionSigns() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice()
        _ = fixture.cloud("POST", "/admin/applications", ["id": "other"])
        let other = try #require(fixture.backend.state.applications["other"])
        for (number, key) in [Base64.encode([UInt8](repeating: 1, count: 16)), other.key].enumerated() {
            var application = device.application
            application.key = key
            var stranger = TestDevice(application: application, version: .v3_3)
            (stranger.activationID, stranger.keys, stranger.counter) =
                (device.activationID, device.keys, device.counter)
            for (type, failures) in [(SignatureType.possession, number), (.possessionKnowledge, number + 1)] {
                let (path, uriID) = ("/pa/v3/signature/validate", "/pa/signature/validate")
                let reply = try stranger.sendSigned(path, uriID: uriID, type, in: &fixture)
                #expect(reply.outcome == "401 ERR_AUTHENTICATION")
                #expect(fixture.backend.activations[0].failedAttempts == failures)
            }
        }
        let good = try device.sendSigned("/pa/v3/signature/validate", uriID: "/pa/signature/validate", in: &fixture)
        #expect(good.outcome == "200 OK")
        #expect(fixture.backend.activations[0].failedAttempts == 0)
    }

    @Test func nothingIsSignedBeforeTheCommitNorAfterTheEnd() throws {
        var fixture = try BackendFixture()
        var device = TestDevice(application: fixture.backend.defaultApplication, version: .v3_3)
        let registration = fixture.cloud("POST", "/v2/registrations", ["userId": "alice"])
        try device.activate(["code": #require(registration.json["activationCode"])], in: &fixture)
        for status in ["PENDING_COMMIT", "REMOVED"] {
            #expect(fixture.status(ofActivation: device.activationID)?.rawValue == status)
            let state = try fixture.exportedState()
            let path = "/pa/v3/signature/validate"
            let reply = try device.sendSigned(path, uriID: "/pa/signature/validate", in: &fixture)
            #expect(reply.outcome == "401 ERR_AUTHENTICATION")
            #expect(try fixture.exportedState() == state)
            _ = fixture.cloud("DELETE", "/v2/registrations/\(device.activationID)")
        }
    }

    /// The whole is decoded once, and then its parts: what the second decoding changes is another query than the signed one.
    @Test(
        .wireFact("3.2"),
        arguments: [
            ("b=2&a=1+1", true), ("a=%C3%BC&a=%C3%A4", true), ("a=%2525", true), ("a=%25", false), ("a=1%2B1", false),
            ("a=1%26b=2", false), ("a=%zz", false), ("", true),
        ]
    )
    func theQueryOfAGetIsDecodedBeforeItIsTakenApart(query: String, isRight: Bool) throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice()
        let signed = query == "a=%2525" ? "a=%25" : query == "a=%zz" ? "" : query
        let uriID = "/pa/signature/validate"
        let header = try device.signatureHeader(.possession, uriID: uriID, method: "GET", body: [], query: signed)
        let reply = fixture.send("GET", "/pa/v3/signature/validate", query: query, headers: [header], body: [])
        #expect(reply.outcome == (isRight ? "200 OK" : "401 ERR_AUTHENTICATION"), "\(reply.verdict)")
    }
}
