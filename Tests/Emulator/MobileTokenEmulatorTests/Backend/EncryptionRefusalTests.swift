import ExactJSON
import PowerAuthCrypto
import Testing
import WireFacts

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// The refusals of encrypted requests by the server.
@Suite struct EncryptionRefusalTests {
    @Test func aWrongSignatureOverAGoodEnvelopeCounts() throws {
        var (fixture, device) = try BackendFixture.active()
        device.wrongKnowledge = device.keys?.possession
        let (reply, _) = try device.sendEncrypted("vault/unlock", in: &fixture)
        #expect(reply.outcome == "401 ERR_AUTHENTICATION")
        #expect(fixture.backend.activations[0].failedAttempts == 1)
    }

    @Test(arguments: MajorVersion.allCases)
    func aReplayedEnvelopeIsRefusedUnderAFreshSignature(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        let envelope = JSONValue.object(try device.seal([:], for: "/pa/token/create", in: &fixture).body)
        func send(_ fixture: inout BackendFixture) throws -> Reply {
            let path = device.path("token/create")
            return try device.sendSigned(path, uriID: "/pa/token/create", .possession, envelope, in: &fixture)
        }
        #expect(try send(&fixture).status == 200)
        let replay = try send(&fixture)
        #expect(replay.outcome == "401 ERR_AUTHENTICATION" && replay.reason == "the request was sent before")
        #expect(replay.object["message"] == "POWER_AUTH_CODE_INVALID")
        #expect(fixture.backend.state.tokens.count == 1)
    }

    @Test(.wireFact("A5", "4.2"), arguments: MajorVersion.allCases)
    func temporaryKeysEndAfterFiveMinutes(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        device.forgetTemporaryKeys()
        func createToken() throws -> Reply { try device.sendEncrypted("token/create", .possession, in: &fixture).reply }
        #expect(try createToken().status == 200)
        fixture.advance(seconds: 299.999)
        #expect(try createToken().status == 200)
        fixture.advance(seconds: 0.001)
        let late = try createToken()
        #expect(late.outcome == "401 ERR_AUTHENTICATION" && late.object["message"] == "POWER_AUTH_CODE_INVALID")
        #expect(try device.sendEnvelope(device.path("user/info"), in: &fixture).reply.outcome == "400 ERR_ENCRYPTION")
        device.forgetTemporaryKeys()
        #expect(try createToken().status == 200)
    }

    @Test(.wireFact("B19"), arguments: MajorVersion.allCases)
    func temporaryKeyRequestsAreChecked(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        let state = try fixture.exportedState()
        let (id, unknown) = (device.activationID, "00000000-0000-4000-8000-000000000000")
        let otherKey = Base64.encode([UInt8](repeating: 1, count: 16))
        let wrong: [(activationID: String?, applicationKey: String?, signer: RequestSigner)] = [
            (nil, nil, .nobody), (nil, nil, .activation), (id, nil, .application), (unknown, nil, .application),
            (unknown, nil, .activation), (nil, otherKey, .application), (nil, "AAAA", .application),
        ]
        let tokens = try wrong.map {
            try device.temporaryKeyRequest($0.activationID, applicationKey: $0.applicationKey, signedWith: $0.signer)
        }
        let requests = (["", "a.b", "a.b.c"] + tokens).map { JSONValue.object(["jwt": .string($0)]) } + [.null, [:]]
        for body in requests.map({ .object(["requestObject": $0]) }) + [[:]] as [JSONValue] {
            let reply = fixture.send(device.path("keystore/create"), json: body)
            #expect(reply.outcome == "400 ERR_TEMPORARY_KEY", "\(body)")
            #expect(reply.object["message"] == "POWER_AUTH_TEMPORARY_KEY_FAILURE", "\(body)")
        }
        #expect(try fixture.exportedState() == state)
    }

    @Test(arguments: MajorVersion.allCases) func userInfoIsToldToTheActivationAlone(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        let path = device.path("user/info")
        let sealed = try device.seal([:], for: "/pa/generic/activation", in: &fixture)
        let reply = fixture.send(path, sealed)
        #expect(try sealed.answer(in: reply)?["sub"]?.string == "alice")
        #expect(fixture.send(path, sealed).outcome == "400 ERR_ENCRYPTION")
        _ = fixture.cloud("PUT", "/v2/registrations/\(device.activationID)", ["change": "BLOCK"])
        #expect(try device.sendEnvelope(path, in: &fixture).reply.outcome == "400 ERR_ENCRYPTION")
    }

    @Test(.wireFact("B7", "2.5", "4.2", "3.2")) func theVaultOpensForPasswordAndPossessionOnly() throws {
        var (fixture, device) = try BackendFixture.active()
        func unlock(_ type: SignatureType, reason: String) throws -> (reply: Reply, answer: JSONValue?) {
            try device.sendEncrypted("vault/unlock", type, ["reason": .string(reason)], in: &fixture)
        }
        for (type, reason) in [
            (SignatureType.possession, "TEST"), (.possessionKnowledge, "no good"),
            (.possessionKnowledgeBiometry, "TEST"), (.possessionBiometry, "TEST"),
        ] {
            let reply = try unlock(type, reason: reason).reply
            #expect(reply.outcome == "400 ERR_SECURE_VAULT" && reply.counterAfter == reply.counterBefore)
        }
        let answer = try #require(try unlock(.possessionKnowledge, reason: "ADD_BIOMETRY").answer)
        #expect(answer["activationId"] == nil)
        let wrapped = try #require(answer["encryptedVaultEncryptionKey"]?.string.flatMap { Base64.decode($0) })
        let keys = try #require(device.keys)
        #expect(try Vault.decryptVaultKey(wrapped, transportKey: keys.transport) == keys.vault)
    }

    @Test(.wireFact("B20", "2.5")) func onlyAnActivationThatWasCommittedGetsATemporaryKey() throws {
        var fixture = try BackendFixture()
        var device = fixture.newDevice()
        try device.activate(fixture.activationCode(), in: &fixture)
        func ask() throws -> String {
            let request = try device.keyRequest(device.activationID, signedWith: .activation)
            return fixture.send("/pa/v3/keystore/create", json: request).outcome
        }
        #expect(try ask() == "400 ERR_TEMPORARY_KEY")
        let path = "/v2/registrations/\(device.activationID)"
        _ = fixture.cloud("POST", path + "/commit", [:])
        #expect(try ask() == "200 OK")
        _ = fixture.cloud("PUT", path, ["change": "BLOCK"])
        #expect(try ask() == "200 OK")
        _ = fixture.cloud("DELETE", path)
        #expect(try ask() == "400 ERR_TEMPORARY_KEY")
    }
}
