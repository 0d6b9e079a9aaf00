import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol
import Testing
import WireFacts

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// The refusals of encrypted requests by the server.
@Suite struct EncryptionRefusalTests {
    /// A signed and encrypted request whose envelope is damaged before it is signed.
    private static func createToken(
        _ device: inout TestDevice,
        _ fixture: inout BackendFixture,
        damaging damage: (inout JSONObject) -> Void = { _ in }
    ) throws -> Reply {
        var encryptor = try device.encryptor(.tokenCreate, activationScope: true, in: &fixture)
        var body = try #require(TestDevice.encrypt([:], &encryptor, timestamp: fixture.milliseconds).object)
        damage(&body)
        return try device.sendSigned(
            "/pa/v3/token/create",
            uriID: "/pa/token/create",
            .possession,
            .object(body),
            in: &fixture
        )
    }

    @Test(.wireFact("B6", "4.2")) func damagedEnvelopesCostAStepAndMakeNoToken() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice()
        _ = try device.temporaryKey(activationScope: true, in: &fixture)
        let damages: [(String, (inout JSONObject) -> Void)] = [
            ("mac", { $0["mac"] = .string(Base64.encode([UInt8](repeating: 0, count: 32))) }),
            ("short mac", { $0["mac"] = "AAAA" }),
            ("data", { $0["encryptedData"] = .string(Base64.encode([UInt8](repeating: 0, count: 16))) }),
            ("nonce", { $0["nonce"] = .string(Base64.encode([UInt8](repeating: 0, count: 16))) }),
            ("no nonce", { $0["nonce"] = nil }),
            ("no timestamp", { $0["timestamp"] = nil }),
            ("timestamp as text", { $0["timestamp"] = "1" }),
            ("timestamp", { $0["timestamp"] = .number(JSONNumber(($0["timestamp"]?.int64 ?? 0) + 1)) }),
            ("key", { $0["ephemeralPublicKey"] = .string(Base64.encode([4] + [UInt8](repeating: 9, count: 64))) }),
            ("nonce twice", { $0.members.append(.init(key: "nonce", value: $0["nonce"] ?? .null)) }),
            ("no Base64", { $0["encryptedData"] = "%%%" }),
        ]
        for (name, damage) in damages {
            let reply = try Self.createToken(&device, &fixture, damaging: damage)
            #expect(reply.outcome == "401 ERR_AUTHENTICATION", "\(name)")
            let isLacking = name == "no nonce" || name == "no timestamp"
            let message = isLacking ? "POWER_AUTH_REQUEST_INVALID" : "POWER_AUTH_TOKEN_ERROR"
            #expect(reply.object["message"]?.string == message, "\(name)")
            #expect(reply.counterAfter == reply.counterBefore.map { $0 + 1 })
        }
        #expect(fixture.backend.state.tokens.count == 0)
    }

    @Test func aWrongSignatureOverAGoodEnvelopeCounts() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice()
        device.wrongKnowledge = device.keys?.possession
        let (reply, _) = try device.sendSignedAndEncrypted(
            "/pa/v3/vault/unlock",
            uriID: "/pa/vault/unlock",
            .vaultUnlock,
            .possessionKnowledge,
            [:],
            in: &fixture
        )
        #expect(reply.outcome == "401 ERR_AUTHENTICATION")
        #expect(fixture.backend.activations[0].failedAttempts == 1)
    }

    @Test(arguments: MajorVersion.allCases)
    func aReplayedEnvelopeIsRefusedUnderAFreshSignature(version: MajorVersion) throws {
        var fixture = try BackendFixture()
        var device = try fixture.device(version)
        let envelope = JSONValue.object(try device.seal([:], for: "/pa/token/create", in: &fixture).body)
        func send(_ fixture: inout BackendFixture) throws -> Reply {
            let path = device.path("token/create")
            return try device.sendSigned(path, uriID: "/pa/token/create", .possession, envelope, in: &fixture)
        }
        #expect(try send(&fixture).status == 200)
        let replay = try send(&fixture)
        #expect(replay.outcome == "401 ERR_AUTHENTICATION" && replay.reason == "the request was sent before")
        #expect(replay.object["message"] == "POWER_AUTH_TOKEN_ERROR")
        #expect(fixture.backend.state.tokens.count == 1)
    }

    @Test(.wireFact("A5", "4.2"), arguments: MajorVersion.allCases)
    func temporaryKeysEndAfterFiveMinutes(version: MajorVersion) throws {
        var fixture = try BackendFixture()
        var device = try fixture.device(version)
        device.forgetTemporaryKeys()
        func createToken() throws -> Reply {
            let (path, purpose) = (device.path("token/create"), "/pa/token/create")
            let type = SignatureType.possession
            return try device.encryptThenSign(path, uriID: purpose, with: type, purpose: purpose, in: &fixture).reply
        }
        #expect(try createToken().status == 200)
        fixture.advance(seconds: 299.999)
        #expect(try createToken().status == 200)
        fixture.advance(seconds: 0.001)
        let late = try createToken()
        #expect(late.outcome == "401 ERR_AUTHENTICATION" && late.object["message"] == "POWER_AUTH_TOKEN_ERROR")
        #expect(try device.sendEnvelope(device.path("user/info"), in: &fixture).reply.outcome == "400 ERR_ENCRYPTION")
        device.forgetTemporaryKeys()
        #expect(try createToken().status == 200)
    }

    @Test func anotherScopesTemporaryKeyIsUnknown() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice()
        let application = try device.temporaryKey(activationScope: false, in: &fixture)
        let reply = try Self.createToken(&device, &fixture) { $0["temporaryKeyId"] = .string(application.id) }
        #expect(reply.outcome == "401 ERR_AUTHENTICATION" && reply.object["message"] == "POWER_AUTH_TOKEN_ERROR")
    }

    @Test(.wireFact("B19"), arguments: MajorVersion.allCases)
    func temporaryKeyRequestsAreChecked(version: MajorVersion) throws {
        var fixture = try BackendFixture()
        let device = try fixture.device(version)
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

    @Test(.wireFact("B20", "2.5")) func onlyAnActivationThatWasCommittedGetsATemporaryKey() throws {
        var fixture = try BackendFixture()
        var device = TestDevice(application: fixture.backend.defaultApplication, version: .v3_3)
        let registration = fixture.cloud("POST", "/v2/registrations", ["userId": "alice"])
        try device.activate(["code": #require(registration.json["activationCode"])], in: &fixture)
        func ask() -> String {
            let request = TemporaryKeyRequest(
                applicationKey: device.application.key,
                activationID: device.activationID,
                challenge: SecureRandom.bytes(18)
            )
            let jwt = request.jwt(applicationSecret: device.applicationSecret, transportKey: device.keys?.transport)
            return fixture.send("/pa/v3/keystore/create", json: ["requestObject": ["jwt": .string(jwt)]]).outcome
        }
        #expect(ask() == "400 ERR_TEMPORARY_KEY")
        let path = "/v2/registrations/\(device.activationID)"
        _ = fixture.cloud("POST", path + "/commit", [:])
        #expect(ask() == "200 OK")
        _ = fixture.cloud("PUT", path, ["change": "BLOCK"])
        #expect(ask() == "200 OK")
        _ = fixture.cloud("DELETE", path)
        #expect(ask() == "400 ERR_TEMPORARY_KEY")
    }

    @Test(.wireFact("B8", "4.2")) func theEncryptionHeaderMustFitTheScope() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice()
        let attempt = try device.activationAttempt(["userId": "bob"], kind: "CUSTOM", in: &fixture)
        let state = try fixture.exportedState()
        let wrong: [[(name: String, value: String)]] = [
            [], [device.encryptionHeader(activationScope: true)],
            [(EncryptionHeader.name, "PowerAuth version=\"3.3\"")],
            [(EncryptionHeader.name, attempt.headers[0].value.replacing("3.3", with: "3.2"))],
        ]
        for headers in wrong {
            let reply = fixture.send("/pa/v3/activation/create", headers: headers, json: attempt.body)
            #expect(reply.outcome == "400 ERR_ACTIVATION")
        }
        #expect(try fixture.exportedState() == state)
    }

    @Test(arguments: MajorVersion.allCases) func userInfoIsToldToTheActivationAlone(version: MajorVersion) throws {
        var fixture = try BackendFixture()
        var device = try fixture.device(version)
        let path = device.path("user/info")
        let sealed = try device.seal([:], for: "/pa/generic/activation", in: &fixture)
        let reply = fixture.send(path, headers: [sealed.header], json: .object(sealed.body))
        #expect(try sealed.answer(in: reply)?["sub"]?.string == "alice")
        let replay = fixture.send(path, headers: [sealed.header], json: .object(sealed.body))
        #expect(replay.outcome == "400 ERR_ENCRYPTION")
        _ = fixture.cloud("PUT", "/v2/registrations/\(device.activationID)", ["change": "BLOCK"])
        #expect(try device.sendEnvelope(path, in: &fixture).reply.outcome == "400 ERR_ENCRYPTION")
    }

    @Test(.wireFact("B7", "2.5", "4.2", "3.2")) func theVaultOpensForPasswordAndPossessionOnly() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice()
        func unlock(_ type: SignatureType, reason: String) throws -> (reply: Reply, answer: JSONValue?) {
            try device.sendSignedAndEncrypted(
                "/pa/v3/vault/unlock",
                uriID: "/pa/vault/unlock",
                .vaultUnlock,
                type,
                ["reason": .string(reason)],
                in: &fixture
            )
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

    @Test(.wireFact("B7", "2.5")) func whatIsWrongWithAVaultRequestMovesNothing() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice()
        func unlock(
            _ content: JSONValue,
            damaging damage: (inout JSONObject) -> Void = { _ in }
        ) throws -> Reply {
            var encryptor = try device.encryptor(.vaultUnlock, activationScope: true, in: &fixture)
            let sealed = try TestDevice.encrypt(content, &encryptor, timestamp: fixture.milliseconds)
            var body = try #require(sealed.object)
            damage(&body)
            let path = "/pa/v3/vault/unlock"
            return try device.sendSigned(
                path,
                uriID: "/pa/vault/unlock",
                .possessionKnowledge,
                .object(body),
                in: &fixture
            )
        }
        let broken = try unlock([:]) { $0["mac"] = "AAAA" }
        #expect(broken.outcome == "400 ERR_SECURE_VAULT" && broken.counterAfter == broken.counterBefore)
        let unreadable = try unlock(["reason": 5])
        #expect(unreadable.outcome == "401 ERR_AUTHENTICATION" && unreadable.counterAfter == unreadable.counterBefore)
        #expect(fixture.backend.activations[0].failedAttempts == 0)
        _ = fixture.cloud("PUT", "/v2/registrations/\(device.activationID)", ["change": "BLOCK"])
        #expect(try unlock([:]).outcome == "401 ERR_AUTHENTICATION")
    }
}
