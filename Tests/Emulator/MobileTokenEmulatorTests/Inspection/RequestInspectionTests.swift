import ExactJSON
import PowerAuthCrypto
import Testing

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// The server's findings about a request beyond its response.
@Suite struct RequestInspectionTests {
    // MARK: Why a signature is wrong

    @Test func aWrongPasswordIsToldFromTheRest() throws {
        var (fixture, device) = try BackendFixture.active()
        device.wrongKnowledge = SecretBytes(copying: [UInt8](repeating: 7, count: 16))
        let reply = try device.validate(in: &fixture)
        #expect(
            reply.reason == """
                the signature is wrong: the counters 0 to 19 steps ahead were tried; 0 steps ahead, possession matches, \
                knowledge does not match
                """
        )
        let code = try #require(reply.inspection.code)
        #expect(code.version == "3.3" && code.type == .possessionKnowledge && code.counter == 0)
        #expect(code.diagnosis?.nearest?.stepsAhead == 0)
        #expect(code.diagnosis?.nearest?.matches == [true, false])
        #expect(code.diagnosis?.hint == nil)
        // The data can be computed again by whoever looks for the mistake; the secret at its end is not in it.
        let parts = String(decoding: code.signedData, as: UTF8.self).split(separator: "&").map(String.init)
        #expect(parts.count == 4 && parts[0] == "POST")
        #expect(Base64.decode(parts[1]) == Array("/pa/signature/validate".utf8))
        #expect(Base64.decode(parts[3]) == Array("{}".utf8))
    }

    @Test func aClientThatIsTooFarAheadIsFound() throws {
        var (fixture, device) = try BackendFixture.active()
        device.counter = device.counter.advanced(by: 31)
        let reply = try device.validate(in: &fixture)
        #expect(reply.reason == "the signature is wrong: it is 31 steps ahead, and the server looks 20 far")
        #expect(reply.inspection.code?.diagnosis?.nearest?.matches == [true, true])
    }

    @Test(arguments: MajorVersion.allCases, [1, 3, 64, 100, 300])
    func aClientThatWasPutBackIsToldHowFarItIsBehind(version: MajorVersion, steps: Int) throws {
        var (fixture, device) = try BackendFixture.active(version)
        var backup = device
        for step in 0..<steps {
            // A counter that is farther back than some hundred steps is not looked for.
            if step == steps - 100 { backup = device }
            #expect(try device.validate(in: &fixture).status == 200)
        }
        let reply = try backup.validate(in: &fixture)
        let behind = min(steps, 100)
        let words = behind == 1 ? "1 step" : "\(behind) steps"
        let reason = "is wrong: its counter is \(words) behind the server's, as of a restored backup"
        #expect(reply.reason?.hasSuffix(reason) == true)
        let code = try #require(reply.inspection.code)
        let shown = Emulator.JournalEntry.Code(code, counterAfter: reply.counterAfter, bodyCapacity: 16)
        #expect(shown.stepsBehind == UInt64(behind) && shown.stepsAhead == nil && !shown.isRight)
        #expect(shown.components?.allSatisfy(\.matches) == true)
        // It is refused all the same.
        #expect(reply.outcome == "401 ERR_AUTHENTICATION" && reply.counterAfter == reply.counterBefore)
    }

    @Test(arguments: [ProtocolVersion.v3_1, .v3_2, .v3_3])
    func dataSignedUnderAnotherNameIsRecognized(version: ProtocolVersion) throws {
        var (fixture, device) = try BackendFixture.with { try $0.activeDevice(version: version) }
        let reply = try device.sendSigned("/pa/v3/activation/remove", uriID: "/pa/signature/validate", in: &fixture)
        #expect(
            reply.reason?.hasSuffix(
                "no component matches; it is right for the URI identifier /pa/signature/validate"
            ) == true
        )
        #expect(reply.inspection.code?.diagnosis?.hint != nil && reply.inspection.code?.diagnosis?.nearest == nil)
        // It was refused all the same, and the counter stayed.
        #expect(reply.outcome == "401 ERR_AUTHENTICATION" && reply.counterAfter == 0)
    }

    @Test func dataSignedUnderAnotherNameIsRecognizedInVersion4() throws {
        var (fixture, device) = try BackendFixture.active4()
        let reply = try device.sendSigned("/pa/v4/auth/validate", uriID: "/operation/history", in: &fixture)
        #expect(reply.reason?.hasSuffix("it is right for the URI identifier /operation/history") == true)
    }

    @Test func dataThatNobodySignedHasNoHint() throws {
        var (fixture, device) = try BackendFixture.active()
        let header = try device.codeHeader(.possession, uriID: "/operation/cancel", body: Array("{}".utf8))
        let path = "/api/auth/token/app/operation/cancel"
        let reply = fixture.send("POST", path, headers: [header], body: Array("{ }".utf8))
        #expect(reply.reason?.hasSuffix("and no component matches") == true)
    }

    @Test func aRightSignatureIsToldToo() throws {
        var (fixture, device) = try BackendFixture.active()
        device.counter = device.counter.advanced(by: 3)
        let reply = try device.validate(in: &fixture)
        let code = try #require(reply.inspection.code)
        #expect(code.diagnosis == nil)
        let shown = Emulator.JournalEntry.Code(code, counterAfter: reply.counterAfter, bodyCapacity: 16)
        #expect(shown.isRight && shown.counter == 0 && shown.stepsAhead == 3 && shown.components == nil)
        #expect(shown.signedData.hasSuffix("bytes)") && shown.signedData.utf8.count < 40)
    }

    @Test func aRequestThatIsNotJudgedHasNoCode() throws {
        var (fixture, device) = try BackendFixture.active()
        _ = fixture.cloud("PUT", "/v2/registrations/\(device.activationID)", ["change": "BLOCK"])
        let reply = try device.validate(in: &fixture)
        #expect(reply.outcome == "401 ERR_AUTHENTICATION" && reply.inspection.code == nil)
    }

    // MARK: Bodies

    @Test func bothLayersOfAnActivationAreTold() throws {
        var fixture = try BackendFixture { $0.profile = .init(.v1_10) }
        var device = TestDevice(application: fixture.backend.defaultApplication, version: .v3_3)
        let registration = fixture.cloud("POST", "/v2/registrations", ["userId": "alice"])
        let code = try #require(registration.json["activationCode"])
        let attempt = try device.activationAttempt(["code": code], otp: "1234", in: &fixture)
        let reply = fixture.send("/pa/v3/activation/create", headers: attempt.headers, json: attempt.body)
        let answer = try device.finish(attempt, with: reply)

        let request = reply.inspection.decryptedRequest
        #expect(request.count == 2)
        #expect(request.first?["identityAttributes"]?["code"] == code)
        #expect(request.last?["activationName"] == "test device")
        #expect(request.last?["activationOtp"] == "(not shown)")
        let response = reply.inspection.decryptedResponse
        #expect(response.count == 2)
        #expect(response.first?["activationData"] == answer["activationData"])
        #expect(response.last?["activationId"]?.string == device.activationID)
        #expect(response.last?["serverPublicKey"] != nil)
        #expect(response.last?["ctrData"] == "(not shown)")
        #expect(response.last?["activationRecovery"]?["puk"] == "(not shown)")
    }

    /// The journal is open to whoever may use the machine, so no secret may be in what it tells.
    @Test func noSecretIsToldByTokensVaultAndRecovery() throws {
        var (fixture, device) = try BackendFixture.active()
        let token = try device.sendEncrypted(.tokenCreate, .possession, [:], in: &fixture)
        let vault = try device.sendEncrypted(.vaultUnlock, .possessionKnowledge, ["reason": "TESTING"], in: &fixture)
        for (reply, answer) in [token, vault] {
            let told = try #require(reply.inspection.decryptedResponse.first)
            let secrets = try #require(answer?.object).members.filter {
                $0.key.contains("ecret") || $0.key.contains("Key")
            }
            #expect(secrets.count == 1)
            let text = String(decoding: told.serialized(), as: UTF8.self)
            for secret in secrets { #expect(!text.contains(try #require(secret.value.string))) }
            #expect(told.object?.keys == answer?.object?.keys)
        }
        #expect(vault.reply.inspection.decryptedRequest == [["reason": "TESTING"]])
    }

    @Test func version4TellsItsBodiesWithoutSecrets() throws {
        var (fixture, device) = try BackendFixture.active4()
        let envelope = try device.envelope(.tokenCreate, ["note": "a"], in: &fixture)
        let header = try device.codeHeader(.possession, uriID: "/pa/token/create", body: envelope.body)
        let reply = fixture.send("POST", Version4.Endpoint.tokenCreate.path, headers: [header], body: envelope.body)
        #expect(reply.inspection.decryptedRequest == [["note": "a"]])
        let told = try #require(reply.inspection.decryptedResponse.first)
        #expect(told["tokenSecret"] == "(not shown)" && told["tokenId"]?.string?.isEmpty == false)
        #expect(reply.inspection.code?.version == "4.0")
    }

    @Test(arguments: [
        ("ctrData", true), ("tokenSecret", true), ("encryptedVaultEncryptionKey", true), ("devicePrivateKey", true),
        ("PASSWORD", true), ("pin", true), ("activationOtp", true), ("puk", true), ("recoveryCode", true),
        ("serverPublicKey", false), ("reason", false), ("mapping", false), ("tokenId", false),
    ])
    func whatNamesASecretIsMasked(name: String, isMasked: Bool) {
        let object: JSONValue = .object(JSONObject([.init(key: name, value: "value")]))
        let nested: JSONValue = ["outer": [object]]
        #expect((nested.maskingSecrets()["outer"]?.array?.first?[name] == "(not shown)") == isMasked)
        let list: JSONValue = .object(JSONObject([.init(key: name, value: ["value", 1, true])]))
        #expect((list.maskingSecrets()[name]?.array?.first == "(not shown)") == isMasked)
    }

    /// A body that is not read, because nothing in it can be a credential, holds none.
    @Test(arguments: [
        (#"{"clientSecret":"x"}"#, true), (#"{"PASSWORD":1}"#, true), (#"{"p\u0061ssword":"x"}"#, true),
        (#"{"a":[{"Pin":"1"}]}"#, true), (#"{"private\u212Aey":"x"}"#, true), ("{\"private\u{212A}ey\":\"x\"}", true),
        (#"{"userId":"alice","template":"login"}"#, false), ("{}", false), ("", false),
    ])
    func aBodyThatMayHoldCredentialsIsFound(json: String, mayHold: Bool) throws {
        #expect(JSONValue.mayHoldCredentials(Array(json.utf8)) == mayHold)
        guard let value = try? JSONValue(parsing: Array(json.utf8)) else { return }
        #expect((value.maskingCredentials() != value) == mayHold)
    }

    @Test func anObjectNamedAfterASecretIsLookedInto() {
        let keys: JSONValue = ["sharedSecretRequest": ["ecdhe": "public", "password": "p"]]
        #expect(keys.maskingSecrets() == ["sharedSecretRequest": ["ecdhe": "public", "password": "(not shown)"]])
    }

    // MARK: Operations

    @Test func whatHappensToAnOperationIsNoted() throws {
        var (fixture, device) = try BackendFixture.withToken()
        let made = fixture.cloud("POST", "/v2/operations", ["template": "login", "userId": "alice"])
        let id = try #require(made.json["operationId"]?.string)
        let data = try #require(made.json["data"]?.string)
        #expect(made.inspection.notes == [.init(kind: .created, operationID: id, reason: nil)])
        let listed = device.sendWithToken("/api/auth/token/app/operation/list", in: &fixture)
        #expect(listed.inspection.notes == [.init(kind: .shown, operationID: id, reason: nil)])
        let detail: JSONValue = ["requestObject": ["id": .string(id)]]
        let opened = device.sendWithToken("/api/auth/token/app/operation/detail", detail, in: &fixture)
        #expect(opened.inspection.notes == [.init(kind: .opened, operationID: id, reason: nil)])
        let refused = try device.authorize((id, "other"), in: &fixture)
        #expect(
            refused.inspection.notes == [
                .init(kind: .approvalRefused, operationID: id, reason: "the data is not the operation's")
            ]
        )
        let approved = try device.authorize((id, data), in: &fixture)
        #expect(approved.inspection.notes == [.init(kind: .approved, operationID: id, reason: nil)])
        #expect(approved.inspection.code?.type == .possessionKnowledge)
        let late = try device.reject(id, in: &fixture)
        #expect(late.inspection.notes.map(\.kind) == [.rejectionRefused])
        // A rejection of no operation gets no note.
        #expect(try device.reject("nothing", in: &fixture).inspection.notes == [])
    }
}
