import ExactJSON
import Testing
import WireFacts

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// The endpoints whose envelope is opened before anything else: the code covers what was in it.
@Suite(.wireFact("A1", "B1", "2.1")) struct AnnotatedEndpointTests {
    private static let uriID = "/pa/activation/rename"
    private static let name: JSONValue = ["activationName": "Müller"]

    @Test(.wireFact("A2"), arguments: MajorVersion.allCases, [SignatureType.possessionKnowledge, .possessionBiometry])
    func aDeviceSignsTheNameAndEncryptsItThen(version: MajorVersion, type: SignatureType) throws {
        var (fixture, device) = try BackendFixture.active(version)
        let path = device.path("activation/rename")
        let (reply, answer) = try device.signThenEncrypt(path, uriID: Self.uriID, Self.name, with: type, in: &fixture)
        let expected: JSONValue = ["activationId": .string(device.activationID), "activationName": "Müller"]
        #expect(answer?["status"]?.string == "OK" && answer?["responseObject"] == expected, "\(reply.verdict)")
        #expect(reply.counterAfter == reply.counterBefore.map { $0 + 1 })
        #expect(fixture.backend.activations[0].name == "Müller")
    }

    @Test(arguments: MajorVersion.allCases) func theOtherOrderIsAWrongCodeThatCounts(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        let path = device.path("activation/rename")
        for attempt in 1...5 {
            let (reply, _) = try device.encryptThenSign(path, uriID: Self.uriID, Self.name, in: &fixture)
            #expect(reply.outcome == "401 ERR_AUTHENTICATION" && reply.counterAfter == reply.counterBefore)
            #expect(fixture.failures == attempt)
            #expect(reply.reason?.contains("right for the envelope as it was sent") == true, "\(reply.verdict)")
        }
        #expect(fixture.status(ofActivation: device.activationID) == .blocked)
    }

    @Test(.wireFact("B6"), arguments: MajorVersion.allCases)
    func aStandardEndpointWantsTheOtherOrder(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        let (path, purpose) = (device.path("token/create"), "/pa/token/create")
        let (right, _) = try device.sendEncrypted("token/create", in: &fixture)
        #expect(right.status == 200, "\(right.verdict)")
        let (wrong, _) = try device.signThenEncrypt(path, uriID: purpose, [:], purpose: purpose, in: &fixture)
        #expect(wrong.outcome == "401 ERR_AUTHENTICATION" && fixture.failures == 1)
        #expect(wrong.reason?.contains("right for the content of the envelope") == true, "\(wrong.verdict)")
    }

    @Test(.wireFact("A4", "4.2"), arguments: MajorVersion.allCases)
    func anEnvelopeThatDoesNotOpenIsAWrongCode(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        let path = device.path("activation/rename")
        let damages: [(inout JSONObject) -> Void] = [
            { $0["temporaryKeyId"] = "00000000-0000-4000-8000-000000000000" },
            { $0["timestamp"] = .number(JSONNumber(($0["timestamp"]?.int64 ?? 0) + 1)) },
            { $0["nonce"] = nil }, { $0["more"] = 1 },
        ]
        for (number, damage) in damages.enumerated() {
            let name = Self.name
            let (reply, _) = try device.signThenEncrypt(path, uriID: Self.uriID, name, in: &fixture, changing: damage)
            #expect(reply.outcome == "401 ERR_AUTHENTICATION" && reply.counterAfter == reply.counterBefore)
            #expect(reply.object["message"] == "POWER_AUTH_CODE_INVALID")
            #expect(reply.reason?.hasPrefix("the envelope was not opened (") == true, "\(reply.verdict)")
            #expect(fixture.failures == number + 1)
        }
    }

    @Test(.wireFact("A7", "4.2"), arguments: MajorVersion.allCases)
    func aMemberTooManyIsAsGoodAsABrokenEnvelope(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        let path = device.path("activation/rename")
        let content: JSONValue = ["activationName": "x", "platform": "linux"]
        let (reply, _) = try device.signThenEncrypt(path, uriID: Self.uriID, content, in: &fixture)
        #expect(reply.outcome == "401 ERR_AUTHENTICATION" && fixture.failures == 1)
        #expect(reply.object["message"] == "POWER_AUTH_CODE_INVALID")
        #expect(reply.reason?.contains("'platform' is a member that real servers refuse here") == true)
    }

    @Test(.wireFact("B18"), arguments: MajorVersion.allCases)
    func aBlankNameIsRefusedAfterTheCode(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        let path = device.path("activation/rename")
        for content in [["activationName": " "], ["activationName": .null], [:]] as [JSONValue] {
            let (reply, _) = try device.signThenEncrypt(path, uriID: Self.uriID, content, in: &fixture)
            #expect(reply.outcome == "401 ERR_AUTHENTICATION")
            #expect(reply.object["message"] == "POWER_AUTH_CODE_INVALID")
            #expect(reply.counterAfter == reply.counterBefore.map { $0 + 1 } && fixture.failures == 0)
        }
        // Not encrypted at all: the code is right for the body as it was sent, and the endpoint sees no name.
        let plain = try device.sendSigned(path, uriID: Self.uriID, .possessionKnowledge, Self.name, in: &fixture)
        #expect(plain.object["message"] == "POWER_AUTH_CODE_INVALID")
        #expect(plain.counterAfter == plain.counterBefore.map { $0 + 1 } && fixture.failures == 0)
    }

    @Test(.wireFact("B18", "4.2"), arguments: MajorVersion.allCases)
    func aWrongCodeOfABlankNameIsCountedAndTheNameRefused(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        let path = device.path("activation/rename")
        func rename(_ name: String) throws -> Reply {
            let content: JSONValue = ["activationName": .string(name)]
            return try device.signThenEncrypt(path, uriID: "/pa/activation/create", content, in: &fixture).reply
        }
        let blank = try rename(" ")
        #expect(blank.object["message"] == "POWER_AUTH_CODE_INVALID" && fixture.failures == 1)
        #expect(blank.counterAfter == blank.counterBefore)
        #expect(try rename("x").object["message"] == "POWER_AUTH_CODE_INVALID" && fixture.failures == 2)
    }

    @Test(.wireFact("A2"), arguments: [EmulatorServerProfile.Release.v1_10, .v2_1])
    func olderServersCannotRenameInVersion3(release: EmulatorServerProfile.Release) throws {
        var fixture = try BackendFixture { $0.profile = .init(release) }
        var device = try fixture.device(.version3)
        let path = device.path("activation/rename")
        let (reply, _) = try device.signThenEncrypt(path, uriID: Self.uriID, Self.name, in: &fixture)
        #expect(reply.outcome == "400 ERR_ACTIVATION")
        #expect(reply.reason == "this release cannot rename; servers of release 2.2 take it")
    }

    @Test(.wireFact("A3", "B2"), arguments: MajorVersion.allCases)
    func detailWantsATokenOfTwoFactors(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        let path = device.path("activation/detail")
        try device.createToken(.possession, in: &fixture)
        let weak = try device.sendEnvelope(path, headers: [device.tokenHeader(in: fixture)], in: &fixture)
        #expect(weak.reply.outcome == "401 ERR_AUTHENTICATION")
        #expect(weak.reply.reason == "a token made with possession is not what is asked for")
        for type in [SignatureType.possessionKnowledge, .possessionBiometry] {
            try device.createToken(type, in: &fixture)
            let header = try device.tokenHeader(in: fixture)
            let (reply, answer) = try device.sendEnvelope(path, headers: [header], in: &fixture)
            let expected: JSONValue = [
                "activationId": .string(device.activationID), "activationName": "test device",
            ]
            #expect(answer?["responseObject"] == expected, "\(reply.verdict)")
            // Without the header nothing is opened, and what was not opened is not answered.
            let bare = fixture.send(path, headers: [try device.tokenHeader(in: fixture)], json: [:])
            #expect(bare.status == 200 && bare.body.isEmpty)
        }
        let counter = fixture.backend.activations[0].counter
        _ = try device.sendEnvelope(path, headers: [device.tokenHeader(in: fixture)], in: &fixture)
        #expect(fixture.backend.activations[0].counter == counter)
    }

    /// Recorded sequence `tokens 20020`, step 8: a token in the envelope of another activation shows its own.
    @Test(arguments: MajorVersion.allCases) func tokenAndEnvelopeAreNotCompared(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        var other = try fixture.device(version)
        try other.createToken(.possessionKnowledge, in: &fixture)
        let path = device.path("activation/detail")
        let mixed = try device.sendEnvelope(path, headers: [other.tokenHeader(in: fixture)], in: &fixture)
        #expect(mixed.answer?["responseObject"]?["activationId"]?.string == other.activationID)
    }

    /// Recording `detail token header with a garbage signature header`: the header of a code decides alone what opens an envelope.
    @Test(arguments: MajorVersion.allCases) func theHeaderOfACodeOpensTheEnvelope(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        try device.createToken(.possessionKnowledge, in: &fixture)
        func send(_ call: String, _ headers: [HeaderField]) throws -> Reply {
            let sealed = try device.seal([:], for: "/pa/generic/activation", in: &fixture)
            return fixture.send(device.path(call), sealed, headers: headers + [(RequestCode.headerName, "x")])
        }
        let detail = try send("activation/detail", [device.tokenHeader(in: fixture)])
        #expect(detail.status == 200 && detail.body.isEmpty)
        #expect(try send("user/info", []).outcome == "400 ERR_ENCRYPTION")
    }

    @Test(.wireFact("B1"), arguments: MajorVersion.allCases)
    func theJournalNamesTheRightFactor(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        device.wrongKnowledge = try device.key(of: .biometry)
        let reply = try device.validate(in: &fixture)
        #expect(reply.reason?.hasSuffix("; it is right for possession_biometry") == true, "\(reply.verdict)")
    }
}
