import ExactJSON
import PowerAuthCrypto
import Testing

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// The server's findings about a request beyond its response.
@Suite struct RequestInspectionTests {
    // MARK: Why a signature is wrong

    @Test(arguments: MajorVersion.allCases) func aWrongPasswordIsToldFromTheRest(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        device.isMistyping = true
        let reply = try device.validate(in: &fixture)
        let (name, key) = version == .version3 ? ("signature", "") : ("code", " with the current key")
        #expect(
            reply.reason == """
                the \(name) is wrong: the counters 0 to 19 steps ahead were tried\(key); 0 steps ahead\(key), possession \
                matches, knowledge does not match
                """
        )
        let code = try #require(reply.inspection.code)
        #expect(code.version == (version == .version3 ? "3.3" : "4.0") && code.type == .possessionKnowledge)
        #expect(code.counter == reply.counterBefore && code.diagnosis?.nearest?.stepsAhead == 0)
        #expect(code.diagnosis?.nearest?.matches == [true, false])
        #expect(code.diagnosis?.hint == nil)
        // The data can be computed again by whoever looks for the mistake; the secret at its end is not in it.
        let parts = String(decoding: code.signedData, as: UTF8.self).split(separator: "&").map(String.init)
        #expect(parts.count == 4 && parts[0] == "POST")
        #expect(Base64.decode(parts[1]) == Array(device.validateURI.utf8))
        #expect(Base64.decode(parts[3]) == device.validateBody().serialized())
    }

    @Test(arguments: MajorVersion.allCases) func aClientThatIsTooFarAheadIsFound(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        device.loseRequests(31)
        let reply = try device.validate(in: &fixture)
        #expect(reply.reason?.hasSuffix(" is wrong: it is 31 steps ahead, and the server looks 20 far") == true)
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

    @Test(arguments: ProtocolVersion.allCases)
    func dataSignedUnderAnotherNameIsRecognized(version: ProtocolVersion) throws {
        var (fixture, device) = try BackendFixture.with { try $0.device(version) }
        let reply = try device.sendSigned(device.path("activation/remove"), uriID: device.validateURI, in: &fixture)
        #expect(reply.reason?.hasSuffix("it is right for the URI identifier " + device.validateURI) == true)
        #expect(reply.inspection.code?.diagnosis?.hint != nil && reply.inspection.code?.diagnosis?.nearest == nil)
        // It was refused all the same, and the counter stayed.
        #expect(reply.outcome == "401 ERR_AUTHENTICATION" && reply.counterAfter == reply.counterBefore)
    }

    @Test(arguments: MajorVersion.allCases) func dataThatNobodySignedHasNoHint(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
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
        var device = fixture.newDevice()
        let code = JSONValue.string(try fixture.activationCode())
        let attempt = try device.activationAttempt(["code": code], otp: "1234", in: &fixture)
        let (reply, granted) = try device.send(attempt, in: &fixture)
        let answer = try #require(granted)

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
    @Test(arguments: MajorVersion.allCases) func noSecretIsToldByTokensAndVault(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        let token = try device.sendEncrypted("token/create", .possession, in: &fixture)
        let keys: JSONValue = ["keyIdentifier": "KEK_DEVICE_PRIVATE", "reason": "TESTING"]
        let content = version == .version3 ? ["reason": "TESTING"] : keys
        let vault = try device.sendEncrypted("vault/unlock", .possessionKnowledge, content, in: &fixture)
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
        #expect(vault.reply.inspection.decryptedRequest == [content])
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
        let reason = "the data is not the operation's"
        #expect(refused.inspection.notes == [.init(kind: .approvalRefused, operationID: id, reason: reason)])
        let approved = try device.authorize((id, data), in: &fixture)
        #expect(approved.inspection.notes == [.init(kind: .approved, operationID: id, reason: nil)])
        #expect(approved.inspection.code?.type == .possessionKnowledge)
        #expect(try device.reject(id, in: &fixture).inspection.notes.map(\.kind) == [.rejectionRefused])
        // A rejection of no operation gets no note.
        #expect(try device.reject("nothing", in: &fixture).inspection.notes == [])
    }
}
