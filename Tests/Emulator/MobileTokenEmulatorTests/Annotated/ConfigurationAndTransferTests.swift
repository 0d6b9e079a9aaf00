import ExactJSON
import MobileTokenEmulator
import Testing
import WireFacts

/// Calls of an application that real servers have beside those of PowerAuth itself.
@Suite(.wireFact("A10")) struct ConfigurationAndTransferTests {
    private static let entries: JSONValue = [
        "config": [
            ["key": "limits", "value": ["daily": 1.50, "names": ["a", .null]], "scope": "APPLICATION"],
            ["key": "host", "value": "pinned.example", "scope": "ACTIVATION"],
        ]
    ]

    private static func path(_ fixture: BackendFixture) -> String {
        "/v2/applications/\(fixture.backend.defaultApplication.id)/config"
    }

    @Test func anApplicationReadsItsConfigurationAndAnActivationMore() throws {
        var (fixture, device) = try BackendFixture.active4()
        func ofApplication() throws -> JSONValue? {
            let (path, purpose) = ("/pa/v4/config/application", "/pa/generic/application")
            return try device.sendEnvelope(path, purpose: purpose, in: &fixture).answer
        }
        #expect(try ofApplication() == ["config": []])
        #expect(fixture.cloud("PUT", Self.path(fixture), Self.entries).json == Self.entries)
        #expect(fixture.cloud("GET", Self.path(fixture)).json == Self.entries)
        let application = try ofApplication()
        #expect(application?["config"]?.array?.compactMap { $0["key"]?.string } == ["limits"])
        #expect(application?["config"]?[0] == Self.entries["config"]?[0])
        let (_, activation) = try device.sendEnvelope("/pa/v4/config/activation", in: &fixture)
        #expect(activation == Self.entries)
    }

    @Test func onlyAnActiveOneOfVersion4ReadsIt() throws {
        var (fixture, older) = try BackendFixture.with { try $0.activeDevice(user: "bob") }
        var device = try fixture.activeDevice4()
        let (three, _) = try older.sendEnvelope("/pa/v4/config/activation", in: &fixture)
        #expect(three.outcome == "401 ERR_AUTHENTICATION")
        #expect(three.object["message"] == "POWER_AUTH_CODE_INVALID")
        #expect(fixture.send("/pa/v4/config/application", json: [:]).outcome == "400 ERR_ENCRYPTION")
        _ = fixture.cloud("PUT", "/v2/registrations/\(device.activationID)", ["change": "BLOCK"])
        let (blocked, _) = try device.sendEnvelope("/pa/v4/config/activation", in: &fixture)
        #expect(blocked.outcome == "400 ERR_ENCRYPTION")
    }

    @Test func theConfigurationIsCheckedAndExported() throws {
        var fixture = try BackendFixture()
        let twice: JSONValue = [
            "config": [
                ["key": "a", "value": 1, "scope": "APPLICATION"], ["key": "a", "value": 2, "scope": "ACTIVATION"],
            ]
        ]
        #expect(fixture.cloud("PUT", Self.path(fixture), twice).status == 400)
        let elsewhere: JSONValue = ["config": [["key": "a", "value": 1, "scope": "DEVICE"]]]
        #expect(fixture.cloud("PUT", Self.path(fixture), elsewhere).status == 400)
        #expect(fixture.cloud("PUT", Self.path(fixture), Self.entries).status == 200)
        let document = try fixture.backend.exported()
        try fixture.replace(with: document)
        #expect(fixture.cloud("GET", Self.path(fixture)).json == Self.entries)
        #expect(try fixture.backend.exported() == document)
        #expect(fixture.cloud("PUT", Self.path(fixture), ["config": []]).json == ["config": []])
    }

    @Test(arguments: MajorVersion.allCases) func aDeviceAsksForACodeForAnotherApplication(version: MajorVersion) throws
    {
        var fixture = try BackendFixture { $0.protocolRules.transfersActivations = true }
        #expect(fixture.cloud("POST", "/admin/applications", ["id": "other", "roles": []]).status == 200)
        var device = try fixture.device(version)
        func ask(_ object: JSONValue) throws -> (reply: Reply, answer: JSONValue?) {
            let path = "/api/activation/code"
            return try device.signThenEncrypt(path, uriID: path, ["requestObject": object], in: &fixture)
        }
        let (reply, answer) = try ask(["applicationId": "other", "otp": "4711471147114711"])
        let made = try #require(answer?["responseObject"], "\(reply.verdict)")
        let id = try #require(made["activationId"]?.string)
        let shown = fixture.cloud("GET", "/v2/registrations/\(id)").json
        #expect(shown["userId"] == "alice" && shown["registrationStatus"] == "CREATED")
        #expect(shown["activationCode"] == made["activationCode"])
        #expect(shown["activationCodeSignature"] == made["activationSignature"])
        let unknown = try ask(["applicationId": "none", "otp": "4711471147114711"])
        #expect(unknown.reply.outcome == "400 ACTIVATION_CODE_FAILED")
        #expect(try ask(["applicationId": "other", "otp": "471147114711471"]).reply.outcome == "400 INVALID_REQUEST")
    }

    /// "activation code by biometry", "… empty" and "… unknown member" of `mobile.jsonl`.
    @Test(arguments: MajorVersion.allCases) func withoutCodeOfTheBankThereIsNone(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        let path = "/api/activation/code"
        let right: JSONObject = ["applicationId": "other", "otp": "4711471147114711"]
        var wrong = right
        wrong["zebra"] = 1
        for (content, outcome, failures) in [
            (["requestObject": .object(right)], "400 ACTIVATION_CODE_FAILED", 0), ([:], "400 ERR_ENCRYPTION", 0),
            (["requestObject": .object(wrong)], "401 ERR_AUTHENTICATION", 1),
        ] as [(JSONValue, String, Int)] {
            let (reply, _) = try device.signThenEncrypt(path, uriID: path, content, in: &fixture)
            #expect(reply.outcome == outcome && fixture.failures == failures)
        }
    }

    @Test(.wireFact("4.2")) func aRequestForACodeThatDoesNotOpenCounts() throws {
        var (fixture, device) = try BackendFixture.active(.version4)
        let path = "/api/activation/code"
        let content: JSONValue = ["requestObject": ["applicationId": "other", "otp": "1"]]
        let (reply, _) = try device.signThenEncrypt(path, uriID: path, content, in: &fixture) { $0["nonce"] = nil }
        #expect(reply.outcome == "401 ERR_AUTHENTICATION" && fixture.failures == 1)
    }
}
