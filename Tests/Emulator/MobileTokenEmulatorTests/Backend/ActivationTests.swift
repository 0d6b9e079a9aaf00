import ExactJSON
import PowerAuthCrypto
import Testing
import WireFacts

@testable import EmulatorBackend
@testable import MobileTokenEmulator

@Suite struct ActivationTests {
    private static let path = "/pa/v3/activation/create"

    private func offer(_ fixture: inout BackendFixture, _ more: JSONObject = [:]) throws -> (id: String, code: String) {
        let code = try fixture.activationCode(more)
        return (fixture.backend.activations[0].id, code)
    }

    /// One that takes the identities which a bank's own code would judge.
    private static func fixtureWithProvider() throws -> BackendFixture {
        try BackendFixture { $0.protocolRules.acceptsCustomIdentities = true }
    }

    @Test(.wireFact("B8"), arguments: MajorVersion.allCases) func aCodeIsUsedOnce(version: MajorVersion) throws {
        var fixture = try BackendFixture()
        let (id, code) = try self.offer(&fixture)
        var device = try fixture.newDevice(version)
        #expect(try device.sendActivation(code, otp: nil, in: &fixture).reply.status == 200)
        #expect(device.activationID == id && fixture.status(ofActivation: id) == .pendingCommit)
        device = try fixture.newDevice(version)
        for used in [code, "AAAAA-AAAAA-AAAAA-AAAAA"] {
            let state = try fixture.exportedStateBesidesKeys()
            #expect(try device.sendActivation(used, otp: nil, in: &fixture).reply.outcome == "400 ERR_ACTIVATION")
            #expect(try fixture.exportedStateBesidesKeys() == state)
        }
    }

    @Test(.wireFact("B8", "4.2")) func aReplayedActivationIsRefused() throws {
        var fixture = try Self.fixtureWithProvider()
        var device = fixture.newDevice()
        let attempt = try device.activationAttempt(["userId": "bob"], kind: "CUSTOM", in: &fixture).outer
        #expect(fixture.send(Self.path, attempt).status == 200)
        let state = try fixture.exportedState()
        let replay = fixture.send(Self.path, attempt)
        #expect(replay.outcome == "400 ERR_ACTIVATION" && replay.reason == "the request was sent before")
        #expect(try fixture.exportedState() == state)
    }

    @Test(arguments: MajorVersion.allCases) func aCodeEndsAfterFiveMinutes(version: MajorVersion) throws {
        var fixture = try BackendFixture()
        let (id, code) = try self.offer(&fixture)
        fixture.advance(seconds: 300)
        var device = try fixture.newDevice(version)
        #expect(try device.sendActivation(code, otp: nil, in: &fixture).reply.outcome == "400 ERR_ACTIVATION")
        #expect(fixture.status(ofActivation: id) == .removed)
    }

    @Test func thePassageOfTimeAloneEndsACode() throws {
        var fixture = try BackendFixture()
        let id = try self.offer(&fixture).id
        let deadline = try #require(fixture.backend.nextDeadline)
        fixture.now = deadline
        let events = fixture.backend.settle(at: fixture.now)
        #expect(events == [BackendEvent(subject: .activation, id: id, status: "REMOVED")])
        #expect(fixture.backend.settle(at: fixture.now).isEmpty)
        #expect(fixture.backend.nextDeadline == nil)
    }

    private static let unknownCredentials: [(String, JSONValue)] = [
        ("CODE", ["code": "AAAAA-AAAAA-AAAAA-AAAAA"]), ("CODE", [:]), ("CUSTOM", [:]),
        ("RECOVERY", ["recoveryCode": "AAAAA-AAAAA-AAAAA-AAAAA", "puk": "0123456789"]), ("TELEPATHY", ["code": "x"]),
    ]

    @Test(arguments: Self.unknownCredentials) func unknownCredentialsAreRefused(kind: String, identity: JSONValue)
        throws
    {
        var fixture = try BackendFixture()
        var device = fixture.newDevice()
        let state = try fixture.exportedStateBesidesKeys()
        #expect(try device.sendActivation(identity, kind: kind, in: &fixture).reply.outcome == "400 ERR_ACTIVATION")
        #expect(try fixture.exportedStateBesidesKeys() == state)
    }

    @Test(.wireFact("A7")) func theTypeHasOneNameAndOthersAreRefused() throws {
        var fixture = try Self.fixtureWithProvider()
        var device = fixture.newDevice()
        let (bob, member): (JSONValue, String) = (["username": "bob"], "activationType")
        let attempt = try device.activationAttempt(bob, kind: "CUSTOM", kindMember: member, in: &fixture)
        let reply = try device.send(attempt, in: &fixture).reply
        #expect(reply.outcome == "400 ERR_ACTIVATION")
        #expect(reply.reason == "'activationType' is a member that real servers refuse here")
    }

    @Test func whatADeviceTellsOfItselfIsKept() throws {
        var fixture = try Self.fixtureWithProvider()
        var device = fixture.newDevice()
        let (bob, shoe): (JSONValue, JSONValue) = (["username": "bob", "colour": "blue"], ["shoe": 44])
        let attempt = try device.activationAttempt(bob, kind: "CUSTOM", customAttributes: shoe, in: &fixture)
        let layer = try #require(try device.send(attempt, in: &fixture).answer)
        #expect(layer["customAttributes"] == ["shoe": 44])
        #expect(layer["userInfo"]?["sub"]?.string == "bob")
        #expect(fixture.status(ofActivation: device.activationID) == .active)
        #expect(fixture.backend.activations[0].userID == "bob")
    }

    @Test(arguments: MajorVersion.allCases)
    func aUsersOwnCodeIsAskedForWhileKeysAreExchanged(version: MajorVersion) throws {
        var fixture = try BackendFixture()
        let options: JSONObject = ["activationOtp": "4711", "activationOtpValidation": "ON_KEY_EXCHANGE"]
        let (id, code) = try self.offer(&fixture, options)
        for otp in [nil, "0815", "4711"] {
            var device = try fixture.newDevice(version)
            let reply = try device.sendActivation(code, otp: otp, in: &fixture).reply
            #expect(reply.outcome == (otp == "4711" ? "200 " : "400 ERR_ACTIVATION"))
        }
        #expect(fixture.status(ofActivation: id) == .active)
    }

    /// Recovery codes are gone, and the user is told.
    @Test(arguments: MajorVersion.allCases) func theAnswerRepeatsTheCustomAttributes(version: MajorVersion) throws {
        var fixture = try BackendFixture()
        let (_, code) = try self.offer(&fixture)
        var device = try fixture.newDevice(version)
        let layer = try #require(try device.sendActivation(code, otp: nil, in: &fixture).answer)
        #expect(layer["customAttributes"] == ["color": "blue"] && layer["userInfo"]?["sub"] == "alice")
        #expect(layer.object?.keys.sorted() == ["activationData", "customAttributes", "userInfo"])
    }

    @Test func fiveWrongCodesOfTheUserRemoveTheRegistration() throws {
        var fixture = try BackendFixture()
        let options: JSONObject = ["activationOtp": "4711", "activationOtpValidation": "ON_COMMIT"]
        let (id, code) = try self.offer(&fixture, options)
        var device = fixture.newDevice()
        try device.activate(code, in: &fixture)
        for attempt in 1...5 {
            let commit = fixture.cloud("POST", "/v2/registrations/\(id)/commit", ["otp": "0000"])
            #expect(commit.outcome == "400 ERROR_REGISTRATION_CHANGE")
            #expect(fixture.status(ofActivation: id) == (attempt < 5 ? .pendingCommit : .removed))
        }
    }

    @Test(arguments: ProtocolVersion.version3) func theStatusIsToldToTheHolderOfTheKeys(_ version: ProtocolVersion)
        throws
    {
        var (fixture, device) = try BackendFixture.with { try $0.activeDevice(version: version) }
        _ = try fixture.backend.administer(.advanceCounter(activationID: device.activationID, by: 300), at: fixture.now)
        let keys = try #require(device.keys)
        let blob = try device.status(in: &fixture)
        #expect(blob.state == .active)
        #expect((blob.failedAttempts, blob.maxFailedAttempts, blob.lookAhead) == (0, 5, 20))
        #expect(blob.counterByte == 44)
        let counter = device.counter.advanced(by: 300)
        #expect(try blob.counterHash == counter.hash(transportKey: keys.transport))
    }

    @Test func theStatusOfAnUnknownActivationIsNoise() throws {
        var fixture = try BackendFixture()
        let request: JSONValue = [
            "requestObject": [
                "activationId": "00000000-0000-4000-8000-000000000000", "challenge": "AAAAAAAAAAAAAAAAAAAAAA==",
            ]
        ]
        let reply = fixture.send("/pa/v3/activation/status", json: request)
        #expect(reply.object["encryptedStatusBlob"]?.string.flatMap { Base64.decode($0) }?.count == 32)
        let short: JSONValue = ["requestObject": ["activationId": "x", "challenge": "AAAA"]]
        #expect(fixture.send("/pa/v3/activation/status", json: short).outcome == "400 ERR_ACTIVATION")
    }

    @Test(.wireFact("B21", "4.1"), arguments: [EmulatorServerProfile.Release.v1_9, .v1_10])
    func aRecoveryCodeMakesANewActivationInPlaceOfTheOld(release: EmulatorServerProfile.Release) throws {
        var fixture = try BackendFixture { $0.profile = .init(release) }
        let lost = try fixture.deviceWithToken()
        let recovery = try #require(lost.recovery)
        func attempt(puk: JSONValue) throws -> (reply: Reply, device: TestDevice) {
            var device = fixture.newDevice()
            let identity: JSONValue = ["recoveryCode": try #require(recovery["recoveryCode"]), "puk": puk]
            return (try device.sendActivation(identity, kind: "RECOVERY", in: &fixture).reply, device)
        }
        let wrong = try attempt(puk: "12345")
        #expect(wrong.reply.outcome == "400 INVALID_RECOVERY_CODE")
        #expect(wrong.reply.object["message"] == "POWER_AUTH_RECOVERY_INVALID")
        #expect(wrong.reply.object["currentRecoveryPukIndex"] == 1)
        let right = try attempt(puk: #require(recovery["puk"]))
        #expect(fixture.status(ofActivation: lost.activationID) == .removed)
        #expect(fixture.status(ofActivation: right.device.activationID) == .active)
        #expect(fixture.backend.activations[0].userID == "alice")
        let again = try attempt(puk: #require(recovery["puk"]))
        #expect(again.reply.outcome == "400 ERR_ACTIVATION")
    }

    @Test(.wireFact("B21")) func aRecoveryCodeIsConfirmed() throws {
        var fixture = try BackendFixture { $0.profile = .init(.v1_10) }
        var device = try fixture.activeDevice()
        let code = try #require(device.recovery?["recoveryCode"])
        func confirm(
            _ code: JSONValue,
            _ type: SignatureType = .possessionKnowledge
        ) throws -> (reply: Reply, answer: JSONValue?) {
            try device.sendEncrypted("recovery/confirm", type, ["recoveryCode": code], in: &fixture)
        }
        #expect(try confirm(code).answer?["alreadyConfirmed"] == true)
        let unknown = try confirm("AAAAA-AAAAA-AAAAA-AAAAA").reply
        #expect(unknown.outcome == "401 ERR_AUTHENTICATION")
        #expect(unknown.object["message"] == "POWER_AUTH_SIGNATURE_INVALID")
        #expect(try confirm(code, .possessionBiometry).reply.object["message"] == "POWER_AUTH_SIGNATURE_INVALID")
    }

    @Test(.wireFact("B21")) func thereIsNoRecoveryAnyMore() throws {
        var (fixture, device) = try BackendFixture.active()
        #expect(device.recovery == nil)
        let content: JSONValue = ["recoveryCode": "AAAAA-AAAAA-AAAAA-AAAAA"]
        let (reply, _) = try device.sendEncrypted("recovery/confirm", .possessionKnowledge, content, in: &fixture)
        #expect(reply.outcome == "404 ERROR_NOT_FOUND" && reply.counterBefore == nil)
    }

    @Test(.wireFact("B28")) func aDirectActivationOfAnotherMethodIsACustomOne() throws {
        var fixture = try Self.fixtureWithProvider()
        var device = fixture.newDevice()
        let identity: JSONValue = ["method": "bankid", "userId": "bob"]
        #expect(try device.sendActivation(identity, kind: "DIRECT", in: &fixture).reply.status == 200)
        #expect(fixture.backend.activations[0].userID == "bob")
    }
}
